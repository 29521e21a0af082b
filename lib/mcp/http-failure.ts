import {messageOf} from '../errors.ts';

/** How the SDK's errors of its HTTP transport begin. Their `code` is the status, where there is one. */
const PREFIX = 'Streamable HTTP error: ';
/** Some servers answer with a whole page. */
const MAX_LENGTH = 1_000;

/** What an error of the SDK says of a reply with a status that tells a failure: the status too, which the SDK's message lacks. */
export function httpFailure(error: unknown): string | undefined {
  const message = messageOf(error);
  if (!message.startsWith(PREFIX)) return undefined;
  const {code} = error as {code?: unknown};
  const status = typeof code === 'number' && code > 0 ? `HTTP ${code}: ` : '';
  return `${status}${message.slice(PREFIX.length)}`.slice(0, MAX_LENGTH);
}

/** Why the server was not reached, or refused, in its own words. */
export function reasonOf(error: unknown): string {
  return httpFailure(error) ?? messageOf(error);
}
