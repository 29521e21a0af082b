/**
 * A schema of any library that keeps to the Standard Schema: zod, valibot, arktype ... Our own statement of its version 1, so that no
 * library is needed to use another.
 *
 * @see {@link https://standardschema.dev}
 */
export interface StandardSchema<Input = unknown, Output = Input> {
  readonly '~standard': StandardProps<Input, Output>;
}

/** A Standard Schema that can also say itself as JSON Schema, as a model needs it. */
export interface StandardSchemaWithJson<Input = unknown, Output = Input> {
  readonly '~standard': StandardProps<Input, Output> & {readonly jsonSchema: JsonSchemaConverter};
}

/** What a schema says of itself. */
export interface StandardProps<Input = unknown, Output = Input> {
  readonly version: 1;
  /** The library, for example `zod`. */
  readonly vendor: string;
  readonly validate: (value: unknown) => StandardResult<Output> | Promise<StandardResult<Output>>;
  /** For the compiler only. */
  readonly types?: {readonly input: Input; readonly output: Output} | undefined;
}

/** Says a schema as JSON Schema, in the draft that `target` names. */
export interface JsonSchemaConverter {
  /** What goes into `validate`. Throws where JSON Schema cannot say it. */
  readonly input: (options: {readonly target: string}) => Record<string, unknown>;
  /** What comes out of it. */
  readonly output: (options: {readonly target: string}) => Record<string, unknown>;
}

/** A value that fits, or what is wrong with it. */
export type StandardResult<Output> = {readonly value: Output; readonly issues?: undefined} | {readonly issues: readonly StandardIssue[]};

/** One thing that is wrong, and where. */
export interface StandardIssue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | {readonly key: PropertyKey})[] | undefined;
}

/** Whether a value is a Standard Schema. Arktype's are functions. */
export function isStandardSchema(value: unknown): value is StandardSchema {
  if ((typeof value !== 'object' && typeof value !== 'function') || value === null || !('~standard' in value)) return false;
  const standard = value['~standard'];
  return typeof standard === 'object' && standard !== null && 'validate' in standard && typeof standard.validate === 'function';
}
