import {isRecord} from '../schema/is-record.ts';
import {frozenCopy} from '../schema/json-copy.ts';
import {resolveReference} from '../schema/resolve-reference.ts';
import type {JsonSchema} from '../schema/schemas-within.ts';

type Node = Record<string, unknown>;

const known = new WeakMap<object, JsonSchema>();

/**
 * Brings a JSON Schema into the shape that Gemini accepts as `parametersJsonSchema`, without changing what it means:
 * - `const` is an `enum` of one, `oneOf` is `anyOf`, `definitions` are `$defs`, a tuple is `prefixItems`, `allOf` of objects is one object;
 * - a missing `type` is filled in where the other keywords tell it;
 * - every required property is described;
 * - a `$ref` stands alone, points to `$defs`, and one that leads back to itself is not required: Gemini unrolls only so far.
 *
 * Keywords that a model does not read are kept: Gemini takes any document and uses what it knows. A schema that nobody has checked and
 * that cannot be followed stays as it is, for the server to say what is wrong with it.
 */
export function toGeminiSchema(schema: unknown): unknown {
  if (!isRecord(schema)) return schema;
  let shaped = known.get(schema);
  if (shaped) return shaped;
  try {
    shaped = frozenCopy(shape(schema));
  } catch {
    return schema;
  }
  // One that is not frozen may be another by the next request.
  if (Object.isFrozen(schema)) known.set(schema, shaped);
  return shaped;
}

function shape(root: JsonSchema): Node {
  const {$ref, $defs, definitions, ...rest} = root;
  const within = typeof $ref === 'string' ? resolve($ref, root) : root;
  const node = shapeNode(within === root ? rest : {...within, ...rest}, {root, within});
  node['type'] ??= 'object';
  if (JSON.stringify(node).includes('"$ref":"#/')) {
    const all = Object.entries({...(definitions as Node | undefined), ...($defs as Node | undefined)});
    node['$defs'] = Object.fromEntries(all.map(([name, child]) => [name, shapeNode(child, {root, within: child})]));
  }
  return node;
}

interface Scope {
  readonly root: JsonSchema;
  /** The root or the definition that a node is part of. */
  readonly within: unknown;
}

/** @param whole - whether a `$ref` is replaced by what it points to, though it stands alone */
function shapeNode(schema: unknown, scope: Scope, whole = false): Node {
  if (!isRecord(schema)) return schema === false ? {not: {}} : {};
  const {$ref, ...rest} = schema;
  if (typeof $ref === 'string') {
    const target = resolve($ref, scope.root);
    // Beside a `$ref` nothing else may stand.
    const isAlone = !whole && Object.keys(rest).every((key) => key.startsWith('$'));
    if (isAlone || leadsTo(target, target, scope.root)) return {$ref: $ref.replace('#/definitions/', '#/$defs/')};
    return shapeNode({...target, ...rest}, scope, whole);
  }
  const node = shapeChildren(withTodaysKeywords(schema), scope);
  mergeAllOf(node);
  const type = node['type'] ?? impliedType(node);
  if (type !== undefined) node['type'] = type;
  settleRequired(node, scope);
  return node;
}

function shapeChildren(schema: Node, scope: Scope): Node {
  const node: Node = {};
  for (const [keyword, value] of Object.entries(schema)) {
    switch (keyword) {
      case 'properties':
        node[keyword] = Object.fromEntries(Object.entries(value as Node).map(([name, child]) => [name, shapeNode(child, scope)]));
        break;
      case 'allOf':
      case 'anyOf':
      case 'oneOf':
      case 'prefixItems':
        node[keyword] = (value as unknown[]).map((child) => shapeNode(child, scope, keyword === 'allOf'));
        break;
      case 'items':
      case 'additionalProperties':
        node[keyword] = typeof value === 'boolean' ? value : shapeNode(value, scope);
        break;
      default:
        node[keyword] = value;
    }
  }
  return node;
}

/** The same node in the words of JSON Schema 2020-12, as far as Gemini knows them. */
function withTodaysKeywords(schema: Node): Node {
  const {$schema: _, items, additionalItems, oneOf, const: only, ...node} = schema;
  if (oneOf !== undefined) node['anyOf' in node ? 'oneOf' : 'anyOf'] = oneOf;
  if (only === null) node['type'] ??= 'null';
  else if (only !== undefined) node['enum'] = [only];
  const isTuple = Array.isArray(items);
  if (isTuple) node['prefixItems'] = items;
  const tail = isTuple ? additionalItems : items;
  if (tail === false) node['maxItems'] ??= ((node['prefixItems'] ?? []) as unknown[]).length;
  else if (tail !== undefined && tail !== true) node['items'] = tail;
  return node;
}

/** An intersection of objects as one object: Gemini does not read `allOf`. What else its members say is left to the validator. */
function mergeAllOf(node: Node): void {
  const members = (node['allOf'] ?? []) as readonly Node[];
  const objects = members.filter((member) => member['type'] === 'object');
  if (objects.length === 0) return;
  const others = members.filter((member) => !objects.includes(member));
  if (others.length > 0) node['allOf'] = others;
  else delete node['allOf'];
  const sources = [...objects, node];
  const properties = sources.flatMap((source) => Object.entries((source['properties'] ?? {}) as Record<string, Node>));
  const merged = new Map<string, Node>();
  for (const [name, property] of properties) merged.set(name, {...merged.get(name), ...property});
  node['type'] = 'object';
  node['properties'] = Object.fromEntries(merged);
  node['required'] = [...new Set(sources.flatMap((source) => source['required'] ?? []))];
}

function impliedType(node: Node): unknown {
  if (node['properties'] ?? node['required'] ?? isRecord(node['additionalProperties'])) return 'object';
  if (node['items'] ?? node['prefixItems']) return 'array';
  const values = node['enum'];
  if (!Array.isArray(values) || values.some(isRecord)) return undefined;
  const whole = values.every((value) => typeof value !== 'number' || Number.isInteger(value));
  const types = new Set(values.map((value) => (value === null ? 'null' : typeof value === 'number' && whole ? 'integer' : typeof value)));
  return types.size === 1 ? [...types][0] : [...types];
}

/** Every required property is described, and none leads back to where it stands: what does may be left out. */
function settleRequired(node: Node, {root, within}: Scope): void {
  const {additionalProperties} = node;
  const required = (node['required'] ?? []) as readonly string[];
  const properties = (node['properties'] ?? {}) as Node;
  const free = isRecord(additionalProperties) ? additionalProperties : {};
  const missing = required.filter((name) => !Object.hasOwn(properties, name)).map((name) => [name, free] as const);
  const described: Node = {...properties, ...Object.fromEntries(missing)};
  if (missing.length > 0) node['properties'] = described;
  const kept = required.filter((name) => !leadsTo(described[name], within, root));
  if (kept.length > 0) node['required'] = kept;
  else delete node['required'];
}

/** Whether a schema refers to a part of its root, directly or through others. */
function leadsTo(schema: unknown, goal: unknown, root: JsonSchema): boolean {
  const reached = new Set(referredBy(schema, root));
  // The loop sees what it adds.
  for (const next of reached) for (const further of referredBy(next, root)) reached.add(further);
  return reached.has(goal);
}

function referredBy(schema: unknown, root: JsonSchema): unknown[] {
  const found: unknown[] = [];
  JSON.stringify(schema, (key, value: unknown) => {
    if (key === '$ref' && typeof value === 'string') found.push(resolve(value, root));
    // The definitions are looked at when something refers to them.
    return key === '$defs' || key === 'definitions' ? undefined : value;
  });
  return found;
}

function resolve(ref: string, root: JsonSchema): JsonSchema {
  return resolveReference(ref, 'parametersJsonSchema', root);
}
