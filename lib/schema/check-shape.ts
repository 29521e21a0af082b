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
  const issues: StandardIssue[] = [];
  checkNode(schema as Node, value, [], {root: schema as Node, issues});
  return issues;
}

interface Scope {
  readonly root: Node;
  readonly issues: StandardIssue[];
}

function checkNode(schema: Node, value: unknown, path: readonly PropertyKey[], scope: Scope): void {
  const refuse = (expected: string): unknown => scope.issues.push({path, message: `must be ${expected}, got ${describe(value)}`});
  const node = resolve(schema, scope.root);
  if (value === null && node['nullable'] === true) return;
  const types = asArray(node['type'] ?? []).map((type) => String(type).toLowerCase());
  if (types.length > 0 && !types.some((type) => isOfType(type, value))) {
    refuse(types.join(' or '));
    return;
  }
  const values = node['enum'];
  if (Array.isArray(values) && !values.some((item) => isSame(item, value))) refuse(`one of ${JSON.stringify(values)}`);
  const alternatives = node['anyOf'];
  if (Array.isArray(alternatives) && !alternatives.some((item: Node) => fits(item, value, scope.root))) refuse('one of its alternatives');
  if (Array.isArray(value)) checkItems(node, value, path, scope);
  else if (isRecord(value)) checkProperties(node, value, path, scope);
}

function checkProperties(node: Node, value: Node, path: readonly PropertyKey[], scope: Scope): void {
  for (const key of (node['required'] ?? []) as readonly string[]) {
    if (!Object.hasOwn(value, key)) scope.issues.push({path: [...path, key], message: 'is missing'});
  }
  for (const [key, schema] of Object.entries((node['properties'] ?? {}) as Record<string, Node>)) {
    if (Object.hasOwn(value, key)) checkNode(schema, value[key], [...path, key], scope);
  }
}

function checkItems(node: Node, value: readonly unknown[], path: readonly PropertyKey[], scope: Scope): void {
  const leading = (node['prefixItems'] ?? []) as readonly Node[];
  for (const [index, item] of value.entries()) {
    const schema = leading[index] ?? (node['items'] as Node | undefined);
    if (schema) checkNode(schema, item, [...path, index], scope);
  }
}

function fits(schema: Node, value: unknown, root: Node): boolean {
  const scope: Scope = {root, issues: []};
  checkNode(schema, value, [], scope);
  return scope.issues.length === 0;
}

function resolve(schema: Node, root: Node): Node {
  const ref = schema['$ref'];
  if (typeof ref !== 'string') return schema;
  const name = ref.slice('#/$defs/'.length).replaceAll('~1', '/').replaceAll('~0', '~');
  return ref === '#' ? root : ((root['$defs'] as Record<string, Node> | undefined)?.[name] ?? {});
}

function isOfType(type: string, value: unknown): boolean {
  if (type === 'integer') return Number.isInteger(value);
  if (type === 'array') return Array.isArray(value);
  if (type === 'object') return isRecord(value);
  if (type === 'null') return value === null;
  return type === 'type_unspecified' || typeof value === type;
}

/** A genai Schema writes the numbers of an enum as strings. */
function isSame(item: unknown, value: unknown): boolean {
  return item === value || (typeof value === 'number' && item === String(value)) || JSON.stringify(item) === JSON.stringify(value);
}

function asArray(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [value];
}

function isRecord(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
