import {SluiceError} from '../errors.ts';

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

function inShort(issues: readonly string[]): string {
  const shown = issues.slice(0, 10).join('; ');
  return issues.length > 10 ? `${shown}; and ${issues.length - 10} more` : shown;
}
