import {describe} from '../errors.ts';
import {isRecord} from '../schema/is-record.ts';
import {HttpProblem} from './http-problem.ts';

/** Room below the 500 levels that an Event may have. */
const MAX_DEPTH = 400;

/** Lists, records and what they hold. A parser takes a quarter of a second for so many; what fits into a body would take it many seconds. */
const MAX_VALUES = 250_000;

/**
 * Reads a request's body as a JSON object. `undefined` where there is no body.
 *
 * @param maxBytes - what it may hold; reading stops there, whatever the headers say
 * @throws {@link HttpProblem} 400, 413 or 415
 */
export async function readJson(request: Request, maxBytes: number): Promise<Record<string, unknown> | undefined> {
  const bytes = await readBytes(request, maxBytes);
  if (bytes.byteLength === 0) return undefined;
  checkType(request.headers);
  let text: string;
  try {
    text = new TextDecoder('utf-8', {fatal: true}).decode(bytes);
  } catch {
    throw new HttpProblem(400, 'MALFORMED_JSON', 'Expected the body to be JSON in UTF-8');
  }
  return text === 'null' ? undefined : parseJson(text, 'the body');
}

/**
 * Reads a text as a JSON object: at most 250,000 values, nested 400 levels deep.
 *
 * @param what - names it in errors
 * @throws {@link HttpProblem} for a text that is no JSON object, or one that no Event could hold
 */
export function parseJson(text: string, what: string): Record<string, unknown> {
  checkShape(text, what);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new HttpProblem(400, 'MALFORMED_JSON', `Expected ${what} to be JSON`);
  }
  if (!isRecord(value)) throw new HttpProblem(422, 'INVALID_BODY', `Expected ${what} to be a JSON object, got ${describe(value)}`);
  return value;
}

function checkType(headers: Headers): void {
  const type = headers.get('content-type') ?? '';
  if (!/^application\/(?:json|[^\s;]+\+json)\s*(?:;|$)/i.test(type)) {
    const came = type === '' ? 'none' : JSON.stringify(type.slice(0, 80));
    throw new HttpProblem(415, 'UNSUPPORTED_MEDIA_TYPE', `Expected the content type application/json, got ${came}`);
  }
  const encoding = headers.get('content-encoding') ?? 'identity';
  if (encoding !== 'identity') {
    throw new HttpProblem(415, 'UNSUPPORTED_ENCODING', 'Expected a body without content encoding', {
      headers: {'accept-encoding': 'identity'},
    });
  }
}

async function readBytes({headers, body}: Request, maxBytes: number): Promise<Uint8Array> {
  if (Number(headers.get('content-length') ?? 0) > maxBytes) throw tooLarge(maxBytes);
  if (!body) return new Uint8Array();
  const chunks: Uint8Array[] = [];
  let size = 0;
  const reader = body.getReader();
  for (;;) {
    // It fails where the client leaves; nobody reads the answer then.
    const {done, value} = await reader.read().catch(() => {
      throw new HttpProblem(400, 'BODY_CUT', 'The body ended before it was whole');
    });
    if (done) break;
    size += value.byteLength;
    if (size > maxBytes) {
      reader.cancel().catch(() => {});
      throw tooLarge(maxBytes);
    }
    chunks.push(value);
  }
  return chunks.length === 1 && chunks[0] ? chunks[0] : joined(chunks, size);
}

function joined(chunks: readonly Uint8Array[], size: number): Uint8Array {
  const bytes = new Uint8Array(size);
  let offset = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, offset);
    offset += chunk.byteLength;
  }
  return bytes;
}

function tooLarge(maxBytes: number): HttpProblem {
  return new HttpProblem(413, 'BODY_TOO_LARGE', `Expected a body of at most ${maxBytes} bytes`);
}

const [SPACE, QUOTE, COMMA, BACKSLASH] = [0x20, 0x22, 0x2c, 0x5c];
const [OPEN_LIST, CLOSE_LIST, OPEN_RECORD, CLOSE_RECORD] = [0x5b, 0x5d, 0x7b, 0x7d];

/** By character code: 1 for what may stand in a number. The letters of `true` and `false` that may too make none that is infinite. */
const NUMERIC = Uint8Array.from({length: 128}, (_, code) => ('+-.0123456789Ee'.includes(String.fromCharCode(code)) ? 1 : 0));

/** One pass over the text before it is parsed, which makes nothing: it costs less than the parser, and may spare it the work. */
function checkShape(text: string, what: string): void {
  let [depth, values] = [0, 0];
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code <= SPACE) continue;
    if (code === QUOTE) at = endOfString(text, at);
    else if (NUMERIC[code]) {
      const start = at;
      while (NUMERIC[text.charCodeAt(at + 1)]) at++;
      // JSON's `1e999` is read as Infinity, which JSON cannot write.
      const isShort = at - start < 4;
      if (!isShort && Math.abs(Number(text.slice(start, at + 1))) === Infinity) throw unfit(what, 'hold only finite numbers');
    } else if (code === COMMA) values++;
    else if (code === OPEN_LIST || code === OPEN_RECORD) {
      values++;
      if (++depth > MAX_DEPTH) throw unfit(what, `nest at most ${MAX_DEPTH} levels deep`);
    } else if (code === CLOSE_LIST || code === CLOSE_RECORD) depth--;
    if (values > MAX_VALUES) throw unfit(what, `hold at most ${MAX_VALUES} values`);
  }
}

function endOfString(text: string, start: number): number {
  let at = start + 1;
  for (let code = text.charCodeAt(at); at < text.length && code !== QUOTE; code = text.charCodeAt(at)) at += code === BACKSLASH ? 2 : 1;
  return at;
}

function unfit(what: string, expected: string): HttpProblem {
  return new HttpProblem(422, 'INVALID_BODY', `Expected ${what} to ${expected}`);
}
