import {InvalidOptionError, messageOf} from '../errors.ts';
import type {JsonSchema} from './schemas-within.ts';
import {settleJsonSchema} from './settle-json-schema.ts';
import {isStandardSchema, type StandardSchema} from './standard-schema.ts';

/**
 * The JSON Schema of what goes into a schema, checked and frozen. It is costly: ask once, when a tool is defined. A provider that reads
 * only a part of JSON Schema has its adapter say it in those words.
 *
 * @param schema - a Standard Schema with a JSON form, or a JSON Schema
 * @param option - names the schema in errors
 * @throws {@link InvalidOptionError} where the schema has no JSON form, does not describe an object, or cannot be meant
 */
export function toJsonSchema(schema: StandardSchema | JsonSchema, option: string): JsonSchema {
  return settleJsonSchema(isStandardSchema(schema) ? jsonFormOf(schema, option) : schema, option);
}

function jsonFormOf(schema: StandardSchema, option: string): unknown {
  const {vendor} = schema['~standard'];
  const converter = 'jsonSchema' in schema['~standard'] ? schema['~standard'].jsonSchema : undefined;
  if (!isConverter(converter)) {
    throw new InvalidOptionError(option, `a schema with a JSON form (${remedyFor(vendor)})`, `a validator of ${vendor} only`);
  }
  try {
    return converter.input({target: 'draft-2020-12'});
  } catch (thrown) {
    throw new InvalidOptionError(option, `a schema that JSON Schema can express (${messageOf(thrown)})`, schema, {cause: thrown});
  }
}

function isConverter(value: unknown): value is {input: (options: {target: string}) => unknown} {
  return typeof value === 'object' && value !== null && 'input' in value && typeof value.input === 'function';
}

function remedyFor(vendor: string): string {
  if (vendor === 'valibot') return 'wrap it in `toStandardJsonSchema` of @valibot/to-json-schema';
  if (vendor === 'zod') return 'use zod 4.2 or later, and with zod/mini pass `z.toJSONSchema(schema)`';
  return 'a library whose `~standard` has `jsonSchema`, or a plain JSON Schema object';
}
