import {InvalidOptionError, SluiceError, describe} from '../errors.ts';
import {checkShape} from './check-shape.ts';
import {memberPath} from './member-path.ts';
import type {Parameters} from './parameters.ts';
import type {StandardIssue, StandardResult} from './standard-schema.ts';
import {summarizeSchema} from './summarize-schema.ts';

/** A model called a tool with arguments that do not fit. The message is written for the model; the tool did not run. */
export class InvalidArgumentsError extends SluiceError {
  readonly code = 'INVALID_ARGUMENTS';
  /** What is wrong, each with the path of the argument, for example `when.day: must be a string, got 3 (number)`. */
  readonly issues: readonly string[];

  constructor(issues: readonly string[], expected?: string) {
    super(`Invalid arguments: ${inShort(issues)}.${expected === undefined ? '' : ` Expected: ${expected}`}`);
    this.issues = issues;
  }
}

/**
 * The arguments of a call, checked: what the validator gives, or the arguments themselves where there is none. Missing arguments
 * (`undefined`, `null`, `''`) are an empty object, so that a tool without required parameters can be called without any.
 *
 * @returns a promise only where the validator gives one
 * @throws {@link InvalidArgumentsError} for arguments that do not fit, or that are no object
 */
export function validateArguments(parameters: Parameters, args: unknown): Record<string, unknown> | Promise<Record<string, unknown>> {
  const {validator, shape} = parameters;
  const record = argumentsRecord(args, parameters);
  if (validator) {
    const result = validator['~standard'].validate(record);
    return 'then' in result ? result.then((value) => valueOf(value, parameters)) : valueOf(result, parameters);
  }
  const issues = shape ? checkShape(shape, record) : [];
  if (issues.length > 0) throw refusal(issues, parameters);
  return record;
}

/**
 * The arguments of a call as an object. Missing ones are an empty object; nothing else is coerced, since a tool that runs on `{}` in
 * place of broken arguments does something that nobody asked for.
 *
 * @throws {@link InvalidArgumentsError}
 */
export function argumentsRecord(args: unknown, parameters?: Parameters): Record<string, unknown> {
  if (args === undefined || args === null || args === '') return {};
  if (typeof args === 'object' && !Array.isArray(args)) return args as Record<string, unknown>;
  throw refusal([{message: `must be an object, got ${describe(args)}`}], parameters);
}

function valueOf(result: StandardResult<unknown>, parameters: Parameters): Record<string, unknown> {
  if (result.issues) throw refusal(result.issues, parameters);
  const {value} = result;
  if (typeof value === 'object' && value !== null) return value as Record<string, unknown>;
  throw new InvalidOptionError('parameters', 'a schema that gives an object', value);
}

function refusal(issues: readonly StandardIssue[], parameters: Parameters | undefined): InvalidArgumentsError {
  const shape = parameters?.shape;
  return new InvalidArgumentsError(issues.map(issueText), shape && summarizeSchema(shape));
}

function issueText({message, path = []}: StandardIssue): string {
  const at = path.reduce<string>((text, segment) => memberPath(text, typeof segment === 'object' ? segment.key : segment), '');
  // Some libraries begin the message with the path.
  return at === '' || message.startsWith(at) ? message : `${at}: ${message}`;
}

function inShort(issues: readonly string[]): string {
  const shown = issues.slice(0, 10).join('; ');
  return issues.length > 10 ? `${shown}; and ${issues.length - 10} more` : shown;
}
