import {memberPath} from './member-path.ts';
import type {StandardIssue} from './standard-schema.ts';

/** What is wrong with a value, with the path to it. */
export function issueText({message, path = []}: StandardIssue): string {
  const at = path.reduce<string>((text, segment) => memberPath(text, typeof segment === 'object' ? segment.key : segment), '');
  // Some libraries begin the message with the path.
  return at === '' || message.startsWith(at) ? message : `${at}: ${message}`;
}
