import type {Schema} from '../content.ts';
import {InvalidOptionError} from '../errors.ts';
import {checkedCopy, frozenCopy} from './json-copy.ts';

const TYPES: readonly string[] = ['ARRAY', 'BOOLEAN', 'INTEGER', 'NULL', 'NUMBER', 'OBJECT', 'STRING', 'TYPE_UNSPECIFIED'];

/** Whether a value is a genai Schema of an object: it says so in upper case, where JSON Schema has lower case. */
export function isGenaiSchema(value: unknown): value is Schema {
  return typeof value === 'object' && value !== null && 'type' in value && value.type === 'OBJECT';
}

/**
 * A frozen copy of a genai Schema.
 *
 * @throws {@link InvalidOptionError} for what the SDK or the server would refuse at every request
 */
export function checkGenaiSchema(schema: Schema, option: string): Schema {
  check(checkedCopy(schema, option), option);
  return frozenCopy(schema, option);
}

function check(schema: Schema, path: string): void {
  if (typeof schema !== 'object' || schema === null || Array.isArray(schema)) throw new InvalidOptionError(path, 'a genai Schema', schema);
  const {properties = {}, required = [], items, anyOf = []} = schema;
  const type: unknown = schema.type;
  // The SDK brings lower case types to upper case.
  const name = typeof type === 'string' ? type.toUpperCase() : undefined;
  if (type !== undefined && (name === undefined || !TYPES.includes(name))) {
    throw new InvalidOptionError(`${path}.type`, `one of ${TYPES.join(', ')}`, type);
  }
  if (type !== undefined && anyOf.length > 0) throw new InvalidOptionError(`${path}.type`, 'absent beside `anyOf`', type);
  if (name === 'ARRAY' && items === undefined) throw new InvalidOptionError(`${path}.items`, 'the schema of the items', items);
  if (name !== 'OBJECT' && schema.properties !== undefined)
    throw new InvalidOptionError(`${path}.type`, 'OBJECT beside `properties`', type);
  if (!(schema.enum ?? []).every((value) => typeof value === 'string')) {
    throw new InvalidOptionError(`${path}.enum`, 'strings, also for numbers', schema.enum);
  }
  for (const key of required) {
    if (!Object.hasOwn(properties, key)) throw new InvalidOptionError(`${path}.required`, 'names of its `properties`', key);
  }
  for (const [key, property] of Object.entries(properties)) check(property, `${path}.properties.${key}`);
  if (items !== undefined) check(items, `${path}.items`);
  for (const [index, option] of anyOf.entries()) check(option, `${path}.anyOf[${index}]`);
}
