import type {Part} from '../../content.ts';
import type {Context} from '../../context/context.ts';
import {InvalidOptionError} from '../../errors.ts';

/** Where the values of an instruction come from: a context, or what does as one. `agentName` says whose instruction it is, in errors. */
export type InstructionContext = Pick<Context, 'state' | 'agentName' | 'loadArtifact'>;

const PLACEHOLDER =
  /(?<!\{)(\{+) *((?:(?:(?:app|user|temp):)?[\p{ID_Start}_]\p{ID_Continue}*|artifact\.[^{}\s?]+(?: +[^{}\s?]+)*)\??) *(\}+)/gu;
const ARTIFACT = 'artifact.';

/**
 * Puts values of the session's state into an instruction, `{city}`, `{app:name}`, `{user:name}`, `{temp:name}`, and the texts of artifacts,
 * `{artifact.notes.txt}`, `{artifact.user:notes.txt}`. With a question mark, `{city?}`, a missing value is an empty text. Spaces inside the
 * braces do not count. A text stands as it is, any other value of the state as JSON.
 *
 * Braces around anything else stay as they are, such as `{"a": 1}`, `{a.b}` or `{{city}}`. What is put in is not looked at again: a
 * value cannot bring placeholders of its own.
 *
 * @throws {@link InvalidOptionError} where a value is missing and has no question mark, a value of the state has no JSON form, an artifact is
 *   no text, or there is no artifact service; what the artifact service fails with is thrown as it is
 */
export async function injectState(template: string, context: InstructionContext): Promise<string> {
  let text = '';
  let end = 0;
  for (const match of template.matchAll(PLACEHOLDER)) {
    const [whole, open = '', name = '', close = ''] = match;
    if (open.length > 1 && close.length > 1) continue;
    text += template.slice(end, match.index) + open.slice(1) + (await valueOf(name, context)) + close.slice(1);
    end = match.index + whole.length;
  }
  return text + template.slice(end);
}

/** Whether an instruction may ask for an artifact: putting it in then takes a store. */
export function asksForArtifact(template: string): boolean {
  return /\{ *artifact\./.test(template);
}

async function valueOf(name: string, context: InstructionContext): Promise<string> {
  const key = name.endsWith('?') ? name.slice(0, -1) : name;
  const isArtifact = key.startsWith(ARTIFACT);
  const value = isArtifact ? await context.loadArtifact(key.slice(ARTIFACT.length)) : context.state.get(key);
  if (value !== undefined) return isArtifact ? artifactText(key, value as Part) : stateText(key, value);
  if (name !== key) return '';
  const expected = `, since \`{${key}}\` stands in the instruction of agent \`${context.agentName}\` (\`{${key}?}\` may be missing)`;
  throw new InvalidOptionError(isArtifact ? key : `state.${key}`, (isArtifact ? 'a saved artifact' : 'set') + expected, undefined);
}

function stateText(key: string, value: unknown): string {
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

const TEXT = /^text\/|^application\/(?:csv|json|xml|yaml|javascript)\b|\+(?:json|xml)\b/i;

function artifactText(key: string, {text, inlineData, fileData}: Part): string {
  if (text !== undefined) return text;
  const mimeType = inlineData?.mimeType ?? fileData?.mimeType ?? '';
  if (!inlineData || !TEXT.test(mimeType))
    throw new InvalidOptionError(key, 'text that is stored as such, to stand in an instruction', mimeType);
  try {
    const bytes = atob((inlineData.data ?? '').replaceAll('-', '+').replaceAll('_', '/'));
    return new TextDecoder().decode(Uint8Array.from(bytes, (unit) => unit.charCodeAt(0)));
  } catch (cause) {
    throw new InvalidOptionError(key, 'base64, to stand in an instruction', inlineData.data, {cause});
  }
}
