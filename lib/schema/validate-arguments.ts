import type * as Arguments from 'sluice/arguments';
import {InvalidOptionError, describe} from '../errors.ts';
import type {Parameters} from './parameters.ts';
import type {StandardIssue, StandardResult} from './standard-schema.ts';

/** Arguments that fit. A promise where the validator gives one, and once for what the check itself has to load. */
export type Validated = Record<string, unknown> | Promise<Record<string, unknown>>;

/**
 * The arguments of a call, checked: what the validator gives, or the arguments themselves where there is none. Missing arguments
 * (`undefined`, `null`, `''`) are an empty object, so that a tool without required parameters can be called without any. Nothing else is
 * coerced, since a tool that runs on `{}` in place of broken arguments does something that nobody asked for.
 *
 * @throws {@link InvalidArgumentsError}, at once or as a rejection, for arguments that do not fit, or that are no object
 */
export function validateArguments({validator, shape}: Partial<Parameters>, args: unknown): Validated {
  const given = args === undefined || args === null || args === '' ? {} : args;
  if (typeof given !== 'object' || Array.isArray(given)) return refuse([{message: `must be an object, got ${describe(args)}`}], shape);
  const record = given as Record<string, unknown>;
  if (validator) {
    const result = validator['~standard'].validate(record);
    return 'then' in result ? result.then((it) => valueOf(it, shape)) : valueOf(result, shape);
  }
  return shape ? load(({checkArguments}) => checkArguments(record, shape)) : record;
}

function valueOf(result: StandardResult<unknown>, shape: Parameters['shape']): Validated {
  if (result.issues) return refuse(result.issues, shape);
  const {value} = result;
  if (typeof value === 'object' && value !== null) return value as Record<string, unknown>;
  throw new InvalidOptionError('parameters', 'a schema that gives an object', value);
}

function refuse(issues: readonly StandardIssue[], shape: Parameters['shape']): Validated {
  return load(({invalidArguments}) => {
    throw invalidArguments(issues, shape);
  });
}

/** Begins to load what checks arguments without a validator, so that it is there when a call comes. */
export function prepareValidation({validator, shape}: Parameters): void {
  // What fails here fails again, and is told, when a call needs it.
  if (shape && !validator) Promise.resolve(load(() => ({}))).catch(() => {});
}

let loaded: typeof Arguments | undefined;

/** What most calls do without: they bring a validator, and fit. */
function load(use: (module: typeof Arguments) => Record<string, unknown>): Validated {
  return loaded ? use(loaded) : import('sluice/arguments').then((module) => use((loaded = module)));
}
