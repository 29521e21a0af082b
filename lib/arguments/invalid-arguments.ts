import {InvalidArgumentsError} from '../schema/invalid-arguments-error.ts';
import {memberPath} from '../schema/member-path.ts';
import type {Parameters} from '../schema/parameters.ts';
import type {StandardIssue} from '../schema/standard-schema.ts';
import {summarizeSchema} from './summarize-schema.ts';

/** The error for arguments with these issues, written for the model. */
export function invalidArguments(issues: readonly StandardIssue[], shape: Parameters['shape']): InvalidArgumentsError {
  return new InvalidArgumentsError(issues.map(issueText), shape && summarizeSchema(shape));
}

function issueText({message, path = []}: StandardIssue): string {
  const at = path.reduce<string>((text, segment) => memberPath(text, typeof segment === 'object' ? segment.key : segment), '');
  // Some libraries begin the message with the path.
  return at === '' || message.startsWith(at) ? message : `${at}: ${message}`;
}
