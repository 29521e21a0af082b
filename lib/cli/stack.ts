import {messageOf} from '../errors.ts';

/** Where the code of this package is. */
const OWN = new URL('..', import.meta.url).href;

/** What was thrown, with its stack in the developer's code: the frames of Node and of this package lead to no line that they wrote. */
export function stackOf(error: unknown): string {
  if (!(error instanceof Error) || !error.stack) return messageOf(error);
  const isTheirs = (line: string): boolean => !/^\s+at /.test(line) || !(line.includes('node:internal/') || line.includes(OWN));
  return error.stack.split('\n').filter(isTheirs).join('\n');
}
