import {messageOf} from '../errors.ts';
import {setOwn} from '../schema/json-copy.ts';
import {asMediaPart, toBase64, type MediaPart, type ResponsePart} from './media-part.ts';

/** Protocol buffers, which the other side reads with, nest some three levels to one of JSON, and at most 100. No result needs as much. */
const MAX_DEPTH = 100;
/** Far beyond what fits into a model's context; a list of four billion holes and a graph that unfolds without end stop here. */
const MAX_VALUES = 1_000_000;

/**
 * Writes any value as JSON data that a function response may hold. Rules beyond those of `JSON.stringify`:
 * - a cycle is `'[Circular]'`, what nests deeper than 100 levels `'[Too deep]'`;
 * - BigInt is a string, always, so that its type does not depend on its size;
 * - a Map with string keys is an object, another a list of entries; a Set is a list;
 * - bytes (Uint8Array, ArrayBuffer, DataView) are base64, other typed arrays lists of numbers;
 * - an Error is `{error: message}`, never a stack, whatever its `toJSON` says;
 * - a Part with media moves to `parts`, and `{attachment: 1, mimeType}` stays in its place;
 * - the key `$ref` is written `_$ref`: in a function response Gemini takes it for the name of a part, and refuses the request;
 * - a promise is an error, since it was to be awaited;
 * - a lone surrogate, half of a character that was cut, is U+FFFD.
 */
export class ResponseJson {
  readonly parts: ResponsePart[] = [];
  readonly #ancestors: object[] = [];
  #values = 0;

  /**
   * The JSON data, or `undefined` for what JSON leaves out: `undefined`, functions, symbols.
   *
   * @throws what the value itself throws when it is read, and RangeError for more than a million values
   */
  write(value: unknown, key = ''): unknown {
    switch (typeof value) {
      case 'string':
        return wellFormed(value);
      case 'number':
        // Minus zero does not survive JSON.
        return Number.isFinite(value) ? value + 0 : null;
      case 'boolean':
        return value;
      case 'bigint':
        return String(value);
      case 'object':
        return value && this.#object(value, key);
      default:
        return undefined;
    }
  }

  #object(value: object, key: string): unknown {
    if (this.#ancestors.includes(value)) return '[Circular]';
    if (this.#ancestors.length >= MAX_DEPTH) return '[Too deep]';
    this.#ancestors.push(value);
    const written = Array.isArray(value) ? this.#list(value) : isRecord(value) ? this.#record(value) : this.#special(value, key);
    this.#ancestors.pop();
    return written;
  }

  #list(items: ArrayLike<unknown>): unknown[] {
    this.#count(items.length);
    const list: unknown[] = [];
    for (let index = 0; index < items.length; index++) list.push(this.write(items[index], String(index)) ?? null);
    return list;
  }

  #record(value: object): Record<string, unknown> {
    const media = asMediaPart(value);
    if (media) return this.attach(media);
    const keys = Object.keys(value);
    this.#count(keys.length);
    const record: Record<string, unknown> = {};
    for (const key of keys) {
      const written = this.write((value as Record<string, unknown>)[key], key);
      if (written !== undefined) setOwn(record, key === '$ref' ? '_$ref' : wellFormed(key), written);
    }
    return record;
  }

  protected attach({part, ...about}: MediaPart): Record<string, unknown> {
    this.parts.push(part);
    return {attachment: this.parts.length, ...about};
  }

  #special(value: object, key: string): unknown {
    // Written as it stands it would be `{}`, and nobody would hear of the `await` that is missing.
    if (value instanceof Promise) throw new TypeError(`The result holds a promise${key && ` in \`${key}\``}; it has to be awaited`);
    if (value instanceof Error) return {error: errorText(value)};
    if (ArrayBuffer.isView(value)) return this.#view(value);
    if (isBuffer(value)) return toBase64(new Uint8Array(value));
    if (hasToJson(value)) {
      const json: unknown = value.toJSON(key);
      return json === value ? this.#record(value) : this.write(json, key);
    }
    if (value instanceof Set) return this.#list([...value]);
    if (isBoxed(value)) return this.write(value.valueOf(), key);
    if (!(value instanceof Map)) return this.#record(value);
    const entries = [...value];
    return entries.every(([name]) => typeof name === 'string') ? this.#record(Object.fromEntries(entries) as object) : this.#list(entries);
  }

  #view(view: ArrayBufferView): unknown {
    const isBytes = view instanceof Uint8Array || view instanceof DataView;
    return isBytes
      ? toBase64(new Uint8Array(view.buffer, view.byteOffset, view.byteLength))
      : this.#list(view as unknown as ArrayLike<number | bigint>);
  }

  #count(values: number): void {
    this.#values += values;
    if (this.#values > MAX_VALUES) throw new RangeError(`more than ${MAX_VALUES} values`);
  }
}

/** A line of a stack: its place is a path, a URL, or one of the engine's own. A message may have lines that begin with "at" too. */
const FRAME = /\n[ \t]+at .*([/\\>\]:]\S{0,99}:(\d+:\d+|0x\w+)\)?|\((native|index \d+)\)|<anonymous>\)?)$/gm;

/** What an error says, without the frames of a stack that was written into its message. */
export function errorText(thrown: unknown): string {
  const text: unknown = messageOf(thrown);
  return wellFormed(String(text).replaceAll(FRAME, '').trim());
}

/** Whether an object is a bare record, of this realm or another, that does not say itself what JSON is to hold of it. */
export function isRecord(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  const isPlain = prototype === Object.prototype || prototype === null || Object.getPrototypeOf(prototype) === null;
  return isPlain && !hasToJson(value);
}

function hasToJson(value: object): value is {toJSON: (key: string) => unknown} {
  return typeof (value as {toJSON?: unknown}).toJSON === 'function';
}

/** Not by `instanceof`: a browser may have no `SharedArrayBuffer`. */
function isBuffer(value: object): value is ArrayBufferLike {
  return /^\[object (Shared)?ArrayBuffer\]$/.test(Object.prototype.toString.call(value));
}

function isBoxed(value: object): boolean {
  return [Number, String, Boolean, BigInt, Symbol].some((type) => value instanceof type);
}

function wellFormed(text: string): string {
  return (text as string & {toWellFormed: () => string}).toWellFormed();
}
