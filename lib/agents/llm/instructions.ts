import {InvalidOptionError} from '../../errors.ts';
import type {State} from '../../sessions/state.ts';

export interface InjectStateOptions {
  /** Where the values come from. */
  readonly state: State;
  /** Whose instruction it is; named in errors. */
  readonly agentName: string;
}

const PLACEHOLDER = /(?<!\{)(\{+) *((?:(?:app|user|temp):)?[\p{ID_Start}_]\p{ID_Continue}*\??) *(\}+)/gu;

/**
 * Puts values of the session's state into an instruction: `{city}`, `{app:name}`, `{user:name}`, `{temp:name}`. With a question mark,
 * `{city?}`, a missing value is an empty text. Spaces inside the braces do not count. A text stands as it is, any other value as JSON.
 *
 * Braces around anything else stay as they are, such as `{"a": 1}`, `{artifact.name}` or `{{city}}`. What is put in is not
 * looked at again: a value cannot bring placeholders of its own.
 *
 * @throws {@link InvalidOptionError} where a value is missing and has no question mark, or has no JSON form
 */
export function injectState(template: string, {state, agentName}: InjectStateOptions): string {
  return template.replace(PLACEHOLDER, (match: string, open: string, name: string, close: string) => {
    if (open.length > 1 && close.length > 1) return match;
    const optional = name.endsWith('?');
    const key = optional ? name.slice(0, -1) : name;
    const value = state.get(key);
    if (value === undefined && !optional) throw missing(key, agentName);
    return open.slice(1) + toText(key, value) + close.slice(1);
  });
}

function missing(key: string, agentName: string): InvalidOptionError {
  const expected = `set, since \`{${key}}\` stands in the instruction of agent \`${agentName}\` (\`{${key}?}\` may be missing)`;
  return new InvalidOptionError(`state.${key}`, expected, undefined);
}

function toText(key: string, value: unknown): string {
  if (value === undefined) return '';
  if (typeof value === 'string') return value;
  let json: string | undefined;
  let cause: unknown;
  try {
    json = JSON.stringify(value);
  } catch (error) {
    cause = error;
  }
  if (json === undefined) throw new InvalidOptionError(`state.${key}`, 'a value that JSON can hold', value, {cause});
  return json;
}
