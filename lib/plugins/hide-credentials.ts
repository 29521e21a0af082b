import {REQUEST_CREDENTIAL} from '../context/requests.ts';
import {isRecord} from '../schema/is-record.ts';

/** Stands where a credential was. */
export const CREDENTIAL = '<credential>';

/** Names of credentials, in lower case and without `_` and `-`: those of ADK's auth configs, and what HTTP, OAuth and tools call theirs. */
const NAMES =
  /auth(?:configs?|credential|response|responseuri|code|orization)$|oauth2?$|token$|secret$|apikey$|privatekey$|credentials?$|passw(?:or)?d$|cookie$/;

/** A member of a record as it may be logged: what is, asks for, or is named like a credential is hidden, also in JSON that is held as a text. */
export function hideCredentials(key: string, value: unknown): unknown {
  if (value === null || value === undefined) return value;
  if (isCredential(key)) return CREDENTIAL;
  if (typeof value === 'string') return hideInText(value);
  if (!isRecord(value) || value['name'] !== REQUEST_CREDENTIAL) return value;
  return {...value, ...('args' in value && {args: CREDENTIAL}), ...('response' in value && {response: CREDENTIAL})};
}

/** A text as it may be logged: JSON is looked into, and so are pieces of it, queries of URLs, and headers. */
export function hideInText(text: string): string {
  if (/^\s*[{[]/.test(text)) {
    try {
      return JSON.stringify(JSON.parse(text), hideCredentials);
    } catch {
      // No JSON, or not all of it.
    }
  }
  return text
    .replaceAll(/("([\w-]{1,64})\\?"\s*:\s*\\?")(?:[^"\\]|\\.)*/g, (whole, head: string, key: string) => hidden(whole, head, key))
    .replaceAll(/(\b([\w-]{1,64})=)[^&\s"']+/g, (whole, head: string, key: string) => hidden(whole, head, key))
    .replaceAll(/\b((?:Bearer|Basic)\s+)[\w.~+/=-]{8,}/gi, `$1${CREDENTIAL}`);
}

function hidden(whole: string, head: string, key: string): string {
  return isCredential(key) ? head + CREDENTIAL : whole;
}

function isCredential(key: string): boolean {
  return NAMES.test(key.replaceAll(/[_-]/g, '').toLowerCase());
}
