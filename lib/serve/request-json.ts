import {describe} from '../errors.ts';
import {isRecord} from '../schema/is-record.ts';
import {HttpProblem} from './http-problem.ts';

/** Room below the 500 levels that an Event may have. */
const MAX_DEPTH = 400;

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

/** @param what - names it in errors @throws {@link HttpProblem} for a text that is no JSON object, or one that no Event could hold */
export function parseJson(text: string, what: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new HttpProblem(400, 'MALFORMED_JSON', `Expected ${what} to be JSON`);
  }
  if (!isRecord(value)) throw new HttpProblem(422, 'INVALID_BODY', `Expected ${what} to be a JSON object, got ${describe(value)}`);
  checkValue(value, what);
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

/** Looks at it level by level: it may nest deeper than a stack is. */
function checkValue(value: unknown, what: string): void {
  let level: unknown[] = [value];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > MAX_DEPTH) throw new HttpProblem(422, 'INVALID_BODY', `Expected ${what} to nest at most ${MAX_DEPTH} levels deep`);
    // JSON's `1e999` is read as Infinity, which JSON cannot write.
    if (level.some((item) => typeof item === 'number' && !Number.isFinite(item))) {
      throw new HttpProblem(422, 'INVALID_BODY', `Expected ${what} to hold only finite numbers`);
    }
    level = level.flatMap((item): unknown[] => (typeof item === 'object' && item !== null ? Object.values(item) : []));
  }
}
