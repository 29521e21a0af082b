import type {ToolConfirmation} from '../context/requests.ts';
import {InvalidOptionError} from '../errors.ts';
import {isRecord} from '../schema/is-record.ts';

/**
 * The answer to a request for confirmation, as a function response holds it: `{confirmed: true}` with what else there is, or the same as
 * JSON in `response`, which is how ADK's web UI sends it.
 *
 * @throws {@link InvalidOptionError} for anything else
 */
export function confirmationOf(response: unknown): ToolConfirmation {
  const isText = isRecord(response) && !('confirmed' in response) && typeof response['response'] === 'string';
  const given = isText ? parsed(String(response['response'])) : response;
  if (isRecord(given) && typeof given['confirmed'] === 'boolean') return given as unknown as ToolConfirmation;
  throw new InvalidOptionError('request.newMessage', 'a confirmation, {confirmed: true} or {confirmed: false}', response);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}
