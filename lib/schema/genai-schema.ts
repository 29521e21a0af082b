import type {Schema} from '../content.ts';
import {expectOption} from '../errors.ts';
import {isRecord} from './is-record.ts';
import {frozenCopy} from './json-copy.ts';
import {JSON_TYPES, schemasWithin} from './schemas-within.ts';

const TYPES: readonly unknown[] = [...JSON_TYPES.map((type) => String(type).toUpperCase()), 'TYPE_UNSPECIFIED'];

/** Whether a value is a genai Schema of an object: it says so in upper case, where JSON Schema has lower case. */
export function isGenaiSchema(value: unknown): value is Schema {
  return isRecord(value) && value['type'] === 'OBJECT';
}

/**
 * A frozen copy of a genai Schema.
 *
 * @throws {@link InvalidOptionError} for what the SDK or the server would refuse at every request
 */
export function checkGenaiSchema(schema: Schema, option: string): Schema {
  const copy = frozenCopy(schema, option);
  check(copy, option);
  return copy;
}

function check(schema: unknown, path: string): void {
  expectOption(isRecord(schema), path, 'a genai Schema', schema);
  for (const [child, at] of schemasWithin(schema, path)) check(child, at);
  const type: unknown = schema['type'];
  const {properties, required = [], items, anyOf = [], enum: values = []} = schema as Schema;
  // The SDK brings lower case types to upper case.
  const name = typeof type === 'string' ? type.toUpperCase() : type;
  expectOption(type === undefined || TYPES.includes(name), `${path}.type`, `one of ${TYPES.join(', ')}`, type);
  expectOption(type === undefined || anyOf.length === 0, `${path}.type`, 'absent beside `anyOf`', type);
  expectOption(name !== 'ARRAY' || items !== undefined, `${path}.items`, 'the schema of the items', items);
  expectOption(name === 'OBJECT' || properties === undefined, `${path}.type`, 'OBJECT beside `properties`', type);
  expectOption(
    values.every((value: unknown) => typeof value === 'string'),
    `${path}.enum`,
    'strings, also for numbers',
    values,
  );
  const undescribed = required.find((key) => !Object.hasOwn(properties ?? {}, key));
  expectOption(undescribed === undefined, `${path}.required`, 'names of its `properties`', undescribed);
}
