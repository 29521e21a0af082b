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
  const received = root['type'] ?? (Object.keys(root).join(', ') || 'anything');
  throw new InvalidOptionError(option, 'a schema of one object, whose properties are the arguments', received);
}

const TYPES: readonly unknown[] = ['array', 'boolean', 'integer', 'null', 'number', 'object', 'string'];
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
    const root = this.#node(place === '#' ? rest : {...this.#references.schemaAt(place), ...rest}, this.#option, place);
    const {$defs: _, ...visible} = root;
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
    const target = this.#references.schemaAt(place);
    const own = Object.entries(schema).filter(([key]) => !key.startsWith('$'));
    if (own.length === 0 || this.#references.isRecursive(place)) return {$ref: ref.replace('#/definitions/', '#/$defs/')};
    return this.#node({...target, ...Object.fromEntries(own)}, path, within);
  }

  #children(schema: Node, path: string, within: string): Node {
    const node: Node = {};
    for (const [key, value] of Object.entries(schema)) {
      const at = `${path}.${key}`;
      switch (key) {
        case 'properties':
        case '$defs':
          node[key] = this.#named(key, value, at, within);
          break;
        case 'allOf':
        case 'anyOf':
        case 'oneOf':
        case 'prefixItems':
          if (!Array.isArray(value)) throw new InvalidOptionError(at, 'a list of schemas', value);
          node[key] = value.map((item, index) => this.#node(key === 'allOf' ? this.#whole(item) : item, `${at}[${index}]`, within));
          break;
        case 'items':
        case 'additionalProperties':
          node[key] = typeof value === 'boolean' ? value : this.#node(value, at, within);
          break;
        default:
          node[key] = value;
      }
    }
    return node;
  }

  #named(key: string, value: unknown, path: string, within: string): Node {
    if (!isRecord(value)) throw new InvalidOptionError(path, 'schemas by name', value);
    const node: Node = {};
    for (const [name, item] of Object.entries(value)) {
      setOwn(node, name, this.#node(item, `${path}.${name}`, key === '$defs' ? `#/$defs/${name}` : within));
    }
    return node;
  }

  /** What a member of `allOf` points to, to be merged. */
  #whole(member: unknown): unknown {
    const ref = isRecord(member) && member['$ref'];
    const place = typeof ref === 'string' ? this.#references.placeOf(ref) : '#';
    return place === '#' || this.#references.isRecursive(place) ? member : this.#references.schemaAt(place);
  }

  /** What leads back to where it stands may be left out. */
  #releaseCycles(node: Node, within: string): void {
    const {required, properties} = node;
    if (!Array.isArray(required) || !isRecord(properties)) return;
    const kept = required.filter((name: string) => !this.#references.leadsTo(properties[name], within));
    if (kept.length > 0) node['required'] = kept;
    else delete node['required'];
  }
}

/** The same node in the words of JSON Schema 2020-12, as far as Gemini knows them. */
function withTodaysKeywords(schema: Node): Node {
  const {$schema: _, definitions, items, additionalItems, oneOf, const: only, ...node} = schema;
  if (isRecord(definitions)) node['$defs'] = {...definitions, ...(node['$defs'] as Node | undefined)};
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

/** An intersection of objects as one object: Gemini does not read `allOf`. Any other is left to the validator. */
function mergeAllOf(node: Node): void {
  const members = node['allOf'] as readonly Node[] | undefined;
  if (!members?.every((member) => member['type'] === 'object' && Object.keys(member).every((key) => MERGEABLE.has(key)))) return;
  const sources = [...members, node];
  const properties = sources.flatMap((source) => Object.entries((source['properties'] ?? {}) as Node));
  const merged = Object.fromEntries(properties);
  if (Object.keys(merged).length < properties.length) return;
  delete node['allOf'];
  node['type'] = 'object';
  node['properties'] = merged;
  node['required'] = [...new Set(sources.flatMap((source) => source['required'] ?? []))];
}

function fillType(node: Node, path: string): void {
  const type = (node['type'] ??= impliedType(node));
  if (type === undefined) delete node['type'];
  else if (![type].flat().every((name) => TYPES.includes(name))) {
    throw new InvalidOptionError(`${path}.type`, `one of ${TYPES.join(', ')} (a genai Schema is in upper case, from its root on)`, type);
  }
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

function describeRequired(node: Node, path: string): void {
  const {required, additionalProperties} = node;
  if (required === undefined) return;
  if (!Array.isArray(required)) throw new InvalidOptionError(`${path}.required`, 'a list of property names', required);
  const properties = (node['properties'] ?? {}) as Node;
  const missing = (required as readonly string[]).filter((name) => !Object.hasOwn(properties, name));
  if (missing.length === 0) return;
  if (additionalProperties === false)
    throw new InvalidOptionError(`${path}.required`, 'names of properties that the schema allows', missing[0]);
  node['properties'] = {...properties};
  for (const name of missing) setOwn(node['properties'] as Node, name, isRecord(additionalProperties) ? additionalProperties : {});
}

function isRecord(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
