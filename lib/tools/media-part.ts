import type {FunctionResponse} from '../content.ts';
import {isRecord} from '../schema/is-record.ts';

/** Media beside a function response. */
export type ResponsePart = NonNullable<FunctionResponse['parts']>[number];

/** A part with media, taken apart. */
export interface MediaPart {
  /** What travels beside the response: only what is known to be accepted there, so without a display name. */
  readonly part: ResponsePart;
  readonly mimeType: string;
  readonly displayName?: string;
}

/** What a Part with media may hold besides. Another key makes it data of the tool's own, which is left as it is. */
const PART_KEYS: ReadonlySet<string> = new Set([
  'fileData',
  'inlineData',
  'mediaProcessing',
  'mediaResolution',
  'partMetadata',
  'thought',
  'thoughtSignature',
  'videoMetadata',
]);

/**
 * A genai Part that holds media, as `createPartFromBase64`, `createPartFromUri` and image models give it; `undefined` for anything else.
 *
 * @throws for inline data that is neither base64 nor bytes: the server would refuse every later request of the session
 */
export function asMediaPart(value: object): MediaPart | undefined {
  const {inlineData, fileData} = value as {inlineData?: unknown; fileData?: unknown};
  const media = inlineData ?? fileData;
  if (!isRecord(media) || !Object.keys(value).every((key) => PART_KEYS.has(key))) return undefined;
  const {mimeType, displayName, data, fileUri} = media;
  if (typeof mimeType !== 'string') return undefined;
  const named = {mimeType, ...(typeof displayName === 'string' && {displayName})};
  if (typeof fileUri === 'string' && fileUri !== '') return {part: {fileData: {fileUri, mimeType}}, ...named};
  if (data instanceof Uint8Array) return {part: {inlineData: {data: toBase64(data), mimeType}}, ...named};
  if (typeof data !== 'string') return undefined;
  if (!/^[\w+/-]+={0,2}$/.test(data))
    throw new TypeError('`inlineData.data` must be base64, without white space and without a `data:` prefix');
  return {part: {inlineData: {data, mimeType}}, ...named};
}

/** Bytes as base64 text. */
export function toBase64(bytes: Uint8Array): string {
  const {Buffer} = globalThis as {Buffer?: {from: (bytes: Uint8Array) => {toString: (encoding: string) => string}}};
  // Where the host has it: some 50 times as fast as what there is elsewhere.
  if (Buffer) return Buffer.from(bytes).toString('base64');
  let text = '';
  // In pieces of whole groups of three bytes; long strings of single characters are slow, and long lists of arguments overflow the stack.
  for (let at = 0; at < bytes.length; at += 3_072)
    text += btoa(String.fromCharCode.apply(undefined, bytes.subarray(at, at + 3_072) as unknown as number[]));
  return text;
}
