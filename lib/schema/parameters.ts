import type {FunctionDeclaration, Schema} from '../content.ts';
import {InvalidOptionError} from '../errors.ts';
import {checkGenaiSchema, isGenaiSchema} from './genai-schema.ts';
import {toJsonSchema} from './json-schema.ts';
import type {JsonSchema} from './schemas-within.ts';
import {isStandardSchema, type StandardSchema, type StandardSchemaWithJson} from './standard-schema.ts';

/**
 * How a tool may describe its arguments: as a Standard Schema with a JSON form (zod 4.2 and later, arktype, valibot within
 * `toStandardJsonSchema`), as a JSON Schema, or as a genai Schema. Each must describe an object.
 */
export type ParametersSchema = StandardSchemaWithJson<unknown, object> | (JsonSchema & {readonly type: string}) | Schema;

/** The arguments that a body gets: what its schema's validator gives, and unchecked values where the schema brings none. */
export type ArgumentsOf<TSchema> =
  TSchema extends StandardSchema<infer _Input, infer Output> ? (Output extends object ? Output : never) : Record<string, unknown>;

/** How an agent's output may be described: as a tool's parameters are. What is checked is of the type `T` that a Standard Schema gives. */
export type OutputSchema<T> = StandardSchemaWithJson<unknown, T> | (JsonSchema & {readonly type: string}) | Schema;

/** A tool's parameters, worked out once. */
export interface Parameters {
  /** What a declaration says of them; nothing for a tool that takes none. Frozen. */
  readonly declaration: Readonly<Pick<FunctionDeclaration, 'parameters' | 'parametersJsonSchema'>>;
  readonly validator?: StandardSchema;
  /** Checks arguments where there is no validator, and tells the model what is expected. */
  readonly shape?: JsonSchema | Schema;
}

/**
 * Works out what the model is told of a tool's parameters, and how its arguments are checked.
 *
 * @param option - names the schema in errors
 * @throws {@link InvalidOptionError} for a schema that cannot be used
 */
export function compileParameters(schema: unknown, option: string): Parameters {
  if (schema === undefined) return {declaration: {}};
  if (isGenaiSchema(schema)) {
    const shape = checkGenaiSchema(schema, option);
    // The server refuses an object without properties here; a tool without parameters leaves them out.
    return {declaration: Object.keys(shape.properties ?? {}).length > 0 ? {parameters: shape} : {}, shape};
  }
  if (!isStandardSchema(schema) && !isJsonSchema(schema)) throw new InvalidOptionError(option, EXPECTED, schema);
  const shape = toJsonSchema(schema, option);
  return {declaration: {parametersJsonSchema: shape}, shape, ...(isStandardSchema(schema) && {validator: schema})};
}

const EXPECTED =
  'a Standard Schema (zod, arktype, valibot ...), a JSON Schema with `type: "object"`, or a genai Schema with `type: "OBJECT"`';

function isJsonSchema(value: unknown): value is JsonSchema {
  if (typeof value !== 'object' || value === null) return false;
  return ['type', 'properties', '$ref', 'anyOf', 'oneOf', 'allOf'].some((keyword) => keyword in value);
}
