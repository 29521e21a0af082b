import {InvalidOptionError} from '../errors.ts';
import {MAX_DEPTH, plainForm, REFUSED, refusalOf} from './json-refusal.ts';

/**
 * A deep copy of plain records and lists. What is neither (a class instance, a function, a Date) is kept as it is, so that a checked
 * argument may hold any type; keys whose value is `undefined` are left out.
 *
 * @throws {@link InvalidOptionError} on a cycle, or on data nested deeper than 500 levels
 */
export function copyJson<T>(value: T): T {
  return copyPlain(value, 0) as T;
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
  return strictCopy(value, name, true);
}

/**
 * The same copy as {@link frozenCopy}, but the caller's own to change.
 *
 * @throws {@link InvalidOptionError} as `frozenCopy` does
 */
export function checkedCopy<T>(value: T, name = 'value'): T {
  return strictCopy(value, name, false);
}

/** Sets a record's own key. A plain assignment to `__proto__` would change the record's prototype and lose the key. */
export function setOwn(record: Record<string, unknown>, key: string, value: unknown): void {
  if (key === '__proto__') Object.defineProperty(record, key, {value, enumerable: true, configurable: true, writable: true});
  else record[key] = value;
}

function copyPlain(value: unknown, depth: number): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (depth > MAX_DEPTH) throw new InvalidOptionError('value', `free of cycles and nested at most ${MAX_DEPTH} levels deep`, value);
  if (Array.isArray(value)) {
    const items: unknown[] = [];
    for (let index = 0; index < value.length; index += 1) items.push(copyPlain(value[index], depth + 1));
    return items;
  }
  if (!isPlain(value)) return value;
  const record: Record<string, unknown> = {};
  for (const key of Object.keys(value)) {
    const item = value[key];
    if (item !== undefined) setOwn(record, key, copyPlain(item, depth + 1));
  }
  return record;
}

function strictCopy<T>(value: T, name: string, freeze: boolean): T {
  try {
    return copyStrictly(value, 0, freeze) as T;
  } catch (thrown) {
    // The copy itself keeps no path, which is what makes it fast; the path is looked for once something was refused.
    throw refusalOf(value, name, thrown);
  }
}

function copyStrictly(value: unknown, depth: number, freeze: boolean): unknown {
  switch (typeof value) {
    case 'string':
    case 'boolean':
    case 'undefined':
      return value;
    case 'number':
      if (Number.isFinite(value)) return value;
      throw REFUSED;
    case 'object':
      if (value === null) return null;
      if (depth > MAX_DEPTH) throw REFUSED;
      if (Array.isArray(value)) return copyList(value, depth + 1, freeze);
      return isPlain(value) ? copyRecord(value, depth + 1, freeze) : copyStrictly(plainForm(value), depth + 1, freeze);
    default:
      throw REFUSED;
  }
}

function copyList(list: readonly unknown[], depth: number, freeze: boolean): readonly unknown[] {
  const items: unknown[] = [];
  for (let index = 0; index < list.length; index += 1) items.push(copyStrictly(list[index], depth, freeze) ?? null);
  return freeze ? Object.freeze(items) : items;
}

/** Every Event carries several empty records; when frozen, one serves them all. */
const EMPTY: Readonly<Record<string, unknown>> = Object.freeze({});

function copyRecord(source: Readonly<Record<string, unknown>>, depth: number, freeze: boolean): Readonly<Record<string, unknown>> {
  const keys = Object.keys(source);
  if (freeze && keys.length === 0) return EMPTY;
  const record: Record<string, unknown> = {};
  for (const key of keys) {
    const item = copyStrictly(source[key], depth, freeze);
    if (item !== undefined) setOwn(record, key, item);
  }
  return freeze ? Object.freeze(record) : record;
}

function isPlain(value: object): value is Record<string, unknown> {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}
