import {InvalidArgumentsError} from '../schema/invalid-arguments-error.ts';
import {issueText} from '../schema/issue-text.ts';
import type {Parameters} from '../schema/parameters.ts';
import type {StandardIssue} from '../schema/standard-schema.ts';
import {summarizeSchema} from './summarize-schema.ts';

/** The error for arguments with these issues, written for the model. */
export function invalidArguments(issues: readonly StandardIssue[], shape: Parameters['shape']): InvalidArgumentsError {
  return new InvalidArgumentsError(issues.map(issueText), shape && summarizeSchema(shape));
}
