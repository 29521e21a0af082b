import type {Schema} from '../content.ts';
import {describe} from '../errors.ts';
import type {JsonSchema} from './normalize-json-schema.ts';
import type {StandardIssue} from './standard-schema.ts';

type Node = Readonly<Record<string, unknown>>;

/**
 * What is wrong with a value, by a schema that brings no validator: its types, enums and required properties. Properties that the schema
 * does not name are allowed, and finer rules (ranges, patterns) are left to the tool.
 *
 * @param schema - a JSON Schema or a genai Schema, checked when the tool was defined
 */
export function checkShape(schema: JsonSchema | Schema, value: unknown): StandardIssue[] {
  const scope: Scope = {root: schema as Node, path: [], issues: []};
  checkNode(schema as Node, value, scope);
  return scope.issues;
}

interface Scope {
  readonly root: Node;
  /** Where the check stands; copied only for what is refused. */
  readonly path: PropertyKey[];
  readonly issues: StandardIssue[];
}

function checkNode(schema: Node, value: unknown, scope: Scope): void {
  const node = resolve(schema, scope.root);
  const {type, enum: values, anyOf: alternatives} = node;
  if (value === null && node['nullable'] === true) return;
  if (type !== undefined && !isOfType(type, value)) {
    refuse(scope, [type].flat().join(' or ').toLowerCase(), value);
    return;
  }
  if (Array.isArray(values) && !values.some((item) => isSame(item, value))) refuse(scope, `one of ${JSON.stringify(values)}`, value);
  if (Array.isArray(alternatives) && !alternatives.some((item: Node) => fits(item, value, scope.root))) {
    refuse(scope, 'one of its alternatives', value);
  }
  if (Array.isArray(value)) checkItems(node, value, scope);
  else if (isRecord(value)) checkProperties(node, value, scope);
}

function checkProperties(node: Node, value: Node, scope: Scope): void {
  for (const key of (node['required'] ?? []) as readonly string[]) {
    if (!Object.hasOwn(value, key)) scope.issues.push({path: [...scope.path, key], message: 'is missing'});
  }
  const properties = (node['properties'] ?? {}) as Readonly<Record<string, Node>>;
  for (const key of Object.keys(value)) {
    if (Object.hasOwn(properties, key)) checkAt(key, properties[key]!, value[key], scope);
  }
}

function checkItems(node: Node, value: readonly unknown[], scope: Scope): void {
  const leading = (node['prefixItems'] ?? []) as readonly Node[];
  for (const [index, item] of value.entries()) {
    const schema = leading[index] ?? (node['items'] as Node | undefined);
    if (schema) checkAt(index, schema, item, scope);
  }
}

function checkAt(key: PropertyKey, schema: Node, value: unknown, scope: Scope): void {
  scope.path.push(key);
  checkNode(schema, value, scope);
  scope.path.pop();
}

function refuse({path, issues}: Scope, expected: string, value: unknown): void {
  issues.push({path: [...path], message: `must be ${expected}, got ${describe(value)}`});
}

function fits(schema: Node, value: unknown, root: Node): boolean {
  const scope: Scope = {root, path: [], issues: []};
  checkNode(schema, value, scope);
  return scope.issues.length === 0;
}

function resolve(schema: Node, root: Node): Node {
  const ref = schema['$ref'];
  if (typeof ref !== 'string') return schema;
  const name = ref.slice('#/$defs/'.length).replaceAll('~1', '/').replaceAll('~0', '~');
  return ref === '#' ? root : ((root['$defs'] as Record<string, Node> | undefined)?.[name] ?? {});
}

/** @param type - the name of a type, in upper case in a genai Schema, or a list of names */
function isOfType(type: unknown, value: unknown): boolean {
  if (Array.isArray(type)) return type.some((name) => isOfType(name, value));
  const name = String(type).toLowerCase();
  if (name === 'integer') return Number.isInteger(value);
  if (name === 'array') return Array.isArray(value);
  if (name === 'object') return isRecord(value);
  if (name === 'null') return value === null;
  return name === 'type_unspecified' || typeof value === name;
}

/** A genai Schema writes the numbers of an enum as strings. */
function isSame(item: unknown, value: unknown): boolean {
  return item === value || (typeof value === 'number' && item === String(value)) || JSON.stringify(item) === JSON.stringify(value);
}

function isRecord(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
