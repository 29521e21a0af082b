import type {Content, GenerateContentConfig, Part} from '../content.ts';
import {REQUEST_CREDENTIAL} from '../context/requests.ts';
import {describe} from '../errors.ts';
import {CREDENTIAL, hideCredentials, hideInText} from './hide-credentials.ts';

/** So many characters of a value are shown. */
const LENGTH = 200;

/** A value in a log line: a text, or JSON without media, without credentials, short and on one line. */
export function brief(value: unknown): string {
  const text = typeof value === 'string' ? hideInText(value) : json(value);
  const line = text.replaceAll(/\s+/g, ' ').trim();
  return line.length > LENGTH ? `${line.slice(0, LENGTH)}...` : line;
}

/** Arguments that a schema has made may hold anything; a log must not fail by it. */
function json(value: unknown): string {
  try {
    return JSON.stringify(value, shown) ?? String(value);
  } catch {
    return describe(value);
  }
}

/**
 * What a content says, part by part.
 *
 * @param isCredential - whether the call of an id asked for a credential, which its response then is, whatever its name
 */
export function contentText(content: Content | undefined, isCredential: (id: string) => boolean = () => false): string {
  const texts = (content?.parts ?? []).map((part) => partText(part, isCredential(part.functionResponse?.id ?? ''))).filter(Boolean);
  return texts.length > 0 ? texts.join(' | ') : 'no content';
}

/** An instruction in a log line; `''` where there is none. */
export function instructionText(instruction: GenerateContentConfig['systemInstruction']): string {
  if (!instruction) return '';
  if (typeof instruction === 'string') return brief(instruction);
  if (!Array.isArray(instruction) && 'parts' in instruction) return contentText(instruction);
  return contentText({parts: [instruction].flat().map((part) => (typeof part === 'string' ? {text: part} : (part as Part)))});
}

function partText(part: Part, isCredential: boolean): string {
  const {text, thought, functionCall: call, functionResponse: answer, inlineData, fileData} = part;
  const isHidden = isCredential || (call ?? answer)?.name === REQUEST_CREDENTIAL;
  if (call) return `calls ${call.name} ${isHidden ? CREDENTIAL : brief(call.args ?? {})}`;
  if (answer) return `${answer.name ?? 'a call'} gave ${isHidden ? CREDENTIAL : brief(answer.response ?? {})}`;
  if (inlineData) return mediaText(inlineData);
  if (fileData) return `<${fileData.mimeType ?? 'file'}>`;
  if (text) return `${thought ? 'thinks ' : ''}"${brief(text)}"`;
  return Object.keys(part).find((kind) => kind !== 'text' && kind !== 'thought' && kind !== 'thoughtSignature') ?? '';
}

function mediaText({mimeType = 'media', data = ''}: {mimeType?: string; data?: string}): string {
  return `<${mimeType}, ${Math.floor((data.length * 3) / 4)} bytes>`;
}

/** A member of a record as it is logged. */
function shown(key: string, value: unknown): unknown {
  if (key === 'inlineData' && typeof value === 'object' && value !== null) return mediaText(value);
  return hideCredentials(key, value);
}
