import {InvalidOptionError} from '../errors.ts';
import {checkedCopy, frozenCopy, setOwn} from './json-copy.ts';
import {SchemaReferences} from './schema-references.ts';

/** A JSON Schema, or a part of one. */
export interface JsonSchema {
  readonly [keyword: string]: unknown;
}

type Node = Record<string, unknown>;

/**
 * Brings a JSON Schema into the shape that Gemini accepts as `parametersJsonSchema`, without changing what it means:
 * - `const` is an `enum` of one, `oneOf` is `anyOf`, `definitions` are `$defs`, a tuple is `prefixItems`, `allOf` of objects is one object;
 * - a missing `type` is filled in where the other keywords tell it;
 * - every required property is described;
 * - a `$ref` stands alone, points to `$defs`, and one that leads back to itself is not required: Gemini unrolls only so far.
 *
 * Keywords that a model does not read are kept: Gemini takes any document and uses what it knows.
 */
export function normalizeJsonSchema(schema: unknown, option: string): JsonSchema {
  if (!isRecord(schema)) throw new InvalidOptionError(option, 'a JSON Schema', schema);
  const root = new Normalizer(checkedCopy(schema, option), option).root();
  if (root['type'] === 'object') return frozenCopy(root, option);
  throw new InvalidOptionError(
    option,
    'a schema of one object, whose properties are the arguments',
    root['type'] ?? (Object.keys(root).join(', ') || 'anything'),
  );
}

/** Keywords that hold one schema, a list of them, or schemas by name. */
const ONE = new Set(['items', 'additionalProperties', 'contains', 'else', 'if', 'not', 'propertyNames', 'then']);
const LIST = new Set(['allOf', 'anyOf', 'oneOf', 'prefixItems']);
const NAMED = new Set(['$defs', 'dependentSchemas', 'patternProperties', 'properties']);
const TYPES = new Set<unknown>(['array', 'boolean', 'integer', 'null', 'number', 'object', 'string']);
/** What may stand in an object schema that is merged into another. */
const MERGEABLE = new Set(['type', 'properties', 'required', 'additionalProperties', 'title', 'description']);

class Normalizer {
  readonly #schema: Node;
  readonly #option: string;
  readonly #references: SchemaReferences;

  constructor(schema: Node, option: string) {
    this.#schema = schema;
    this.#option = option;
    this.#references = new SchemaReferences(schema, option);
  }

  root(): Node {
    const {$ref, ...rest} = this.#schema;
    const place = typeof $ref === 'string' ? this.#references.placeOf($ref) : '#';
    const root = this.#node(place === '#' ? rest : {...this.#definition(place), ...rest}, this.#option, place);
    const {$defs, ...visible} = root;
    return JSON.stringify(visible).includes('"$ref"') ? root : visible;
  }

  /** @param within - the place that this node is part of */
  #node(schema: unknown, path: string, within: string): Node {
    if (typeof schema === 'boolean') return schema ? {} : {not: {}};
    if (!isRecord(schema)) throw new InvalidOptionError(path, 'a JSON Schema', schema);
    if (typeof schema['$ref'] === 'string') return this.#reference(schema, schema['$ref'], path, within);
    const node = this.#children(withTodaysKeywords(schema), path, within);
    mergeAllOf(node);
    fillType(node, path);
    describeRequired(node, path);
    this.#releaseCycles(node, within);
    return node;
  }

  /** Beside a `$ref` nothing else may stand, so one with a description of its own is replaced by what it points to. */
  #reference(schema: Node, ref: string, path: string, within: string): Node {
    const place = this.#references.placeOf(ref);
    const definition = this.#definition(place);
    const own = Object.entries(schema).filter(([key]) => !key.startsWith('$'));
    if (own.length > 0 && !this.#references.isRecursive(place))
      return this.#node({...definition, ...Object.fromEntries(own)}, path, within);
    return {$ref: ref.replace('#/definitions/', '#/$defs/')};
  }

  #children(schema: Node, path: string, within: string): Node {
    const node: Node = {};
    for (const [key, value] of Object.entries(schema)) {
      const at = `${path}.${key}`;
      if (key === 'additionalProperties' && typeof value === 'boolean') node[key] = value;
      else if (ONE.has(key)) node[key] = this.#node(value, at, within);
      else if (LIST.has(key)) node[key] = asList(value, at).map((item, index) => this.#member(key, item, `${at}[${index}]`, within));
      else if (NAMED.has(key)) node[key] = this.#named(key, value, at, within);
      else node[key] = value;
    }
    return node;
  }

  /** A member of `allOf` is wanted in full, to be merged. */
  #member(key: string, item: unknown, path: string, within: string): Node {
    const place =
      key === 'allOf' && isRecord(item) && typeof item['$ref'] === 'string' ? this.#references.placeOf(item['$ref']) : undefined;
    const whole = place !== undefined && !this.#references.isRecursive(place);
    return this.#node(whole ? this.#definition(place) : item, path, within);
  }

  #named(key: string, value: unknown, path: string, within: string): Node {
    if (!isRecord(value)) throw new InvalidOptionError(path, 'schemas by name', value);
    const node: Node = {};
    for (const [name, item] of Object.entries(value)) {
      setOwn(node, name, this.#node(item, `${path}.${name}`, key === '$defs' ? `#/$defs/${name}` : within));
    }
    return node;
  }

  /** What leads back to where it stands may be left out. */
  #releaseCycles(node: Node, within: string): void {
    const {required, properties} = node;
    if (!Array.isArray(required) || !isRecord(properties)) return;
    const kept = required.filter((name: string) => !this.#references.leadsTo(properties[name], within));
    if (kept.length > 0) node['required'] = kept;
    else delete node['required'];
  }

  #definition(place: string): Node {
    const definition = this.#references.schemaAt(place);
    if (!isRecord(definition)) throw new InvalidOptionError(this.#option, `complete, with a schema at \`${place}\``, definition);
    return definition;
  }
}

/** The same node in the words of JSON Schema 2020-12, as far as Gemini knows them. */
function withTodaysKeywords(schema: Node): Node {
  const {$schema, definitions, items, additionalItems, oneOf, const: only, ...node} = schema;
  if (isRecord(definitions)) node['$defs'] = {...definitions, ...(node['$defs'] as Node | undefined)};
  if (oneOf !== undefined) node['anyOf' in node ? 'oneOf' : 'anyOf'] = oneOf;
  if (only === null) node['type'] ??= 'null';
  else if (only !== undefined) node['enum'] = [only];
  const tail = Array.isArray(items) ? additionalItems : items;
  if (Array.isArray(items)) node['prefixItems'] = items;
  if (tail === false) node['maxItems'] ??= Array.isArray(node['prefixItems']) ? node['prefixItems'].length : 0;
  else if (tail !== undefined) node['items'] = tail;
  return node;
}

/** An intersection of objects as one object: Gemini does not read `allOf`. Any other is left to the validator. */
function mergeAllOf(node: Node): void {
  const members = node['allOf'] as Node[] | undefined;
  if (!members?.every((member) => member['type'] === 'object' && Object.keys(member).every((key) => MERGEABLE.has(key)))) return;
  const properties: [string, unknown][] = [];
  for (const source of [...members, node]) properties.push(...Object.entries((source['properties'] ?? {}) as Node));
  if (new Set(properties.map(([name]) => name)).size < properties.length) return;
  const required = [...members, node].flatMap((source) => source['required'] ?? []);
  delete node['allOf'];
  Object.assign(
    node,
    {type: 'object', properties: Object.fromEntries(properties)},
    required.length > 0 && {required: [...new Set(required)]},
  );
}

function fillType(node: Node, path: string): void {
  const {type} = node;
  if (type === undefined) {
    const implied = impliedType(node);
    if (implied !== undefined) node['type'] = implied;
    return;
  }
  if (asArray(type).every((name) => TYPES.has(name))) return;
  const expected = `one of ${[...TYPES].join(', ')} (a genai Schema has its types in upper case, from its root on)`;
  throw new InvalidOptionError(`${path}.type`, expected, type);
}

function impliedType(node: Node): unknown {
  if ('properties' in node || 'required' in node || 'propertyNames' in node || isRecord(node['additionalProperties'])) return 'object';
  if ('items' in node || 'prefixItems' in node) return 'array';
  if (!Array.isArray(node['enum'])) return undefined;
  const values: readonly unknown[] = node['enum'];
  if (values.some((value) => typeof value === 'object' && value !== null)) return undefined;
  const number = values.every((value) => typeof value !== 'number' || Number.isInteger(value)) ? 'integer' : 'number';
  const types = [...new Set(values.map((value) => (value === null ? 'null' : typeof value === 'number' ? number : typeof value)))];
  return types.length === 1 ? types[0] : types;
}

function describeRequired(node: Node, path: string): void {
  const {required, additionalProperties} = node;
  if (required === undefined) return;
  if (!Array.isArray(required) || !required.every((name) => typeof name === 'string')) {
    throw new InvalidOptionError(`${path}.required`, 'a list of property names', required);
  }
  const properties = (node['properties'] ?? {}) as Node;
  const missing = required.filter((name) => !Object.hasOwn(properties, name));
  if (missing.length === 0) return;
  if (additionalProperties === false)
    throw new InvalidOptionError(`${path}.required`, 'names of properties that the schema allows', missing[0]);
  const added = missing.map((name) => [name, isRecord(additionalProperties) ? additionalProperties : {}] as const);
  node['properties'] = Object.fromEntries([...Object.entries(properties), ...added]);
}

function asList(value: unknown, path: string): readonly unknown[] {
  if (!Array.isArray(value)) throw new InvalidOptionError(path, 'a list of schemas', value);
  return value;
}

function asArray(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [value];
}

function isRecord(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
