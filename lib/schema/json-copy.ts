import {messageOf} from '../errors.ts';
import {MAX_DEPTH, Refusal} from './json-refusal.ts';

/**
 * A deep copy of plain records and lists. What is neither (a class instance, a function, a Date) is kept as it is, so that a checked
 * argument may hold any type; keys whose value is `undefined` are left out.
 *
 * @throws {@link InvalidOptionError} on a cycle, or on data nested deeper than 500 levels
 */
export function copyJson<T>(value: T): T {
  return copy(value, 'value', ANY) as T;
}

/**
 * A deep copy that is JSON all through and that nobody can change: what a store keeps and hands out again, so that isolation costs one
 * copy and not one per reader.
 *
 * It holds what `JSON.parse(JSON.stringify(value))` would: `toJSON` counts (a Date becomes its ISO string), a class instance becomes a
 * record of its fields, `undefined` is left out of a record and `null` in a list. What `JSON.stringify` would lose without a word is
 * refused instead: functions, symbols, NaN and the infinities, Map, Set, Error, typed arrays and other built-in objects; so is what it
 * throws on: BigInt and cycles. Binary data belongs in a base64 string.
 *
 * @param name - what stands at the front of the path in an error, for example `event`
 * @throws {@link InvalidOptionError} naming the path of what JSON cannot hold; nesting deeper than 500 levels counts as that
 */
export function frozenCopy<T>(value: T, name = 'value'): T {
  return copy(value, name, FROZEN) as T;
}

/**
 * The same copy as {@link frozenCopy}, but the caller's own to change.
 *
 * @throws {@link InvalidOptionError} as `frozenCopy` does
 */
export function checkedCopy<T>(value: T, name = 'value'): T {
  return copy(value, name, JSON_ONLY) as T;
}

/** Sets a record's own key. A plain assignment to `__proto__` would change the record's prototype and lose the key. */
export function setOwn(record: Record<string, unknown>, key: string, value: unknown): void {
  if (key === '__proto__') Object.defineProperty(record, key, {value, enumerable: true, configurable: true, writable: true});
  else record[key] = value;
}

/** What a copy may hold, and whether it is frozen. */
type Mode = 0 | 1 | 2;
const ANY = 0;
const JSON_ONLY = 1;
const FROZEN = 2;

function copy(value: unknown, name: string, mode: Mode): unknown {
  try {
    return copyValue(value, 0, mode);
  } catch (thrown) {
    throw thrown instanceof Refusal ? thrown.toError(name) : thrown;
  }
}

function copyValue(value: unknown, depth: number, mode: Mode): unknown {
  if (typeof value === 'object') return value && copyObject(value, depth, mode);
  const isJson = typeof value === 'string' || typeof value === 'boolean' || value === undefined || Number.isFinite(value);
  if (isJson || mode === ANY) return value;
  throw new Refusal(value);
}

/** Every Event carries several empty records; when frozen, one serves them all. */
const EMPTY: Readonly<Record<string, unknown>> = Object.freeze({});

function copyObject(value: object, depth: number, mode: Mode): unknown {
  if (depth > MAX_DEPTH) throw new Refusal(value, `nested at most ${MAX_DEPTH} levels deep`);
  let key: string | number | undefined;
  try {
    if (Array.isArray(value)) {
      const items: unknown[] = [];
      for (key = 0; key < value.length; key += 1) {
        const item = copyValue(value[key], depth + 1, mode);
        items.push(mode === ANY ? item : (item ?? null));
      }
      return mode === FROZEN ? Object.freeze(items) : items;
    }
    if (!isPlain(value)) return mode === ANY ? value : copyValue(plainForm(value), depth + 1, mode);
    const keys = Object.keys(value);
    if (mode === FROZEN && keys.length === 0) return EMPTY;
    const record: Record<string, unknown> = {};
    for (key of keys) {
      const item = copyValue(value[key], depth + 1, mode);
      if (item !== undefined) setOwn(record, key, item);
    }
    return mode === FROZEN ? Object.freeze(record) : record;
  } catch (thrown) {
    if (!(thrown instanceof Refusal)) throw new Refusal(value, `readable, but reading it threw "${messageOf(thrown)}"`, {cause: thrown});
    if (key !== undefined) thrown.trail.push([value, key]);
    throw thrown;
  }
}

/**
 * What stands in JSON for an object that is neither a list nor a plain record: what its `toJSON` gives, or its own fields. Built-in objects
 * whose content JSON would lose are refused.
 */
function plainForm(value: object): unknown {
  const {toJSON} = value as {toJSON?: unknown};
  // Node's Buffer has a `toJSON` that gives a list of numbers, many times the size of the data.
  if (typeof toJSON === 'function' && !ArrayBuffer.isView(value)) return toJSON.call(value, '');
  if (Object.prototype.toString.call(value) !== '[object Object]') throw new Refusal(value);
  return {...value};
}

function isPlain(value: object): value is Record<string, unknown> {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}
