import type {Schema} from '../content.ts';
import {describe} from '../errors.ts';
import {isRecord} from './is-record.ts';
import type {JsonSchema} from './schemas-within.ts';
import {resolveReference} from './resolve-reference.ts';
import type {StandardIssue} from './standard-schema.ts';

/**
 * What is wrong with a value, by a schema that brings no validator: its types, enums and required properties. Properties that the schema
 * does not name are allowed, and finer rules (ranges, patterns) are left to the tool.
 *
 * @param schema - a JSON Schema or a genai Schema, checked when the tool was defined
 * @param root - what its references are looked up in
 */
export function checkShape(schema: JsonSchema | Schema, value: unknown, root: JsonSchema | Schema = schema): StandardIssue[] {
  const issues: StandardIssue[] = [];
  checkNode(schema as JsonSchema, value, {root: root as JsonSchema, path: [], issues});
  return issues;
}

interface Scope {
  readonly root: JsonSchema;
  /** Where the check stands; copied only for what is refused. */
  readonly path: PropertyKey[];
  readonly issues: StandardIssue[];
}

function checkNode(schema: JsonSchema, value: unknown, scope: Scope): void {
  const {root} = scope;
  const {$ref} = schema;
  const node = typeof $ref === 'string' ? resolveReference($ref, '$ref', root) : schema;
  const {type, enum: values, anyOf, allOf} = node;
  if (value === null && node['nullable'] === true) return;
  if (type !== undefined && !isOfType(type, value)) {
    refuse(scope, [type].flat().join(' or ').toLowerCase(), value);
    return;
  }
  if (Array.isArray(values) && !values.some((item) => isSame(item, value))) refuse(scope, `one of ${JSON.stringify(values)}`, value);
  if (Array.isArray(anyOf) && !anyOf.some((item: JsonSchema) => checkShape(item, value, root).length === 0)) {
    refuse(scope, 'one of its alternatives', value);
  }
  if (Array.isArray(allOf)) for (const member of allOf as readonly JsonSchema[]) checkNode(member, value, scope);
  if (Array.isArray(value)) checkItems(node, value, scope);
  else if (isRecord(value)) checkProperties(node, value, scope);
}

function checkProperties({required, properties}: JsonSchema, value: JsonSchema, scope: Scope): void {
  for (const key of (required ?? []) as readonly string[]) {
    if (!Object.hasOwn(value, key)) scope.issues.push({path: [...scope.path, key], message: 'is missing'});
  }
  if (!isRecord(properties)) return;
  for (const key of Object.keys(value)) if (Object.hasOwn(properties, key)) checkAt(key, properties[key], value[key], scope);
}

function checkItems({items, prefixItems}: JsonSchema, value: readonly unknown[], scope: Scope): void {
  const leading = (prefixItems ?? []) as readonly unknown[];
  for (let index = 0; index < value.length; index++) checkAt(index, leading[index] ?? items, value[index], scope);
}

function checkAt(key: PropertyKey, schema: unknown, value: unknown, scope: Scope): void {
  if (!isRecord(schema)) return;
  scope.path.push(key);
  checkNode(schema, value, scope);
  scope.path.pop();
}

function refuse({path, issues}: Scope, expected: string, value: unknown): void {
  issues.push({path: [...path], message: `must be ${expected}, got ${describe(value)}`});
}

/** @param type - the name of a type, in upper case in a genai Schema, or a list of names */
function isOfType(type: unknown, value: unknown): boolean {
  const actual = value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value;
  if (type === actual) return true;
  if (Array.isArray(type)) return type.some((name) => isOfType(name, value));
  const name = String(type).toLowerCase();
  return name === actual || name === 'type_unspecified' || (name === 'integer' && Number.isInteger(value));
}

/** A genai Schema writes the numbers of an enum as strings. */
function isSame(item: unknown, value: unknown): boolean {
  return item === value || (typeof value === 'number' && item === String(value)) || JSON.stringify(item) === JSON.stringify(value);
}
