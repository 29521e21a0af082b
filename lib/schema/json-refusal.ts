import {InvalidOptionError, messageOf} from '../errors.ts';

/** No data that a person or a model writes nests deeper; a cycle does. */
export const MAX_DEPTH = 500;

/** Thrown within a copy when it meets what JSON cannot hold; made once, since {@link refusalOf} says where and what. */
export const REFUSED: Error = new Error('Not JSON');

/**
 * What stands in JSON for an object that is neither a list nor a plain record: what its `toJSON` gives, or its own fields.
 *
 * Throws {@link REFUSED} for built-in objects whose content JSON would lose.
 */
export function plainForm(value: object): unknown {
  // Node's Buffer has a `toJSON` that gives a list of numbers, many times the size of the data.
  if (ArrayBuffer.isView(value)) throw REFUSED;
  if (hasJsonForm(value)) return value.toJSON('');
  if (Object.prototype.toString.call(value) !== '[object Object]') throw REFUSED;
  return {...value};
}

function hasJsonForm(value: object): value is {toJSON(key: string): unknown} {
  return 'toJSON' in value && typeof value.toJSON === 'function';
}

/**
 * Finds what a copy refused, and says so.
 *
 * @param thrown - what the copy threw; the cause of the error where nothing else is found
 */
export function refusalOf(value: unknown, name: string, thrown: unknown): InvalidOptionError {
  return (
    findIn(value, name, new Set()) ??
    new InvalidOptionError(name, 'a value that JSON can hold', value, thrown === REFUSED ? undefined : {cause: thrown})
  );
}

function findIn(value: unknown, path: string, ancestors: Set<object>): InvalidOptionError | undefined {
  if (typeof value !== 'object' || value === null) return isJsonScalar(value) ? undefined : refusal(path, value);
  if (ancestors.has(value)) return new InvalidOptionError(path, 'free of cycles', value);
  if (ancestors.size > MAX_DEPTH)
    return new InvalidOptionError(`${path.slice(0, 80)}...`, `nested at most ${MAX_DEPTH} levels deep`, value);
  ancestors.add(value);
  let found: InvalidOptionError | undefined;
  try {
    found = findWithin(value, path, ancestors);
  } catch (thrown) {
    found = thrown === REFUSED ? refusal(path, value) : unreadable(path, value, thrown);
  }
  ancestors.delete(value);
  return found;
}

function findWithin(value: object, path: string, ancestors: Set<object>): InvalidOptionError | undefined {
  const prototype: unknown = Object.getPrototypeOf(value);
  const plain = Array.isArray(value) || prototype === Object.prototype || prototype === null;
  if (!plain) return findIn(plainForm(value), path, ancestors);
  for (const key of Object.keys(value)) {
    const at = Array.isArray(value) ? `${path}[${key}]` : memberPath(path, key);
    const found = findIn((value as Record<string, unknown>)[key], at, ancestors);
    if (found) return found;
  }
  return undefined;
}

function isJsonScalar(value: unknown): boolean {
  if (typeof value === 'number') return Number.isFinite(value);
  return value === null || value === undefined || typeof value === 'string' || typeof value === 'boolean';
}

function memberPath(path: string, key: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(key) ? `${path}.${key}` : `${path}[${JSON.stringify(key)}]`;
}

function refusal(path: string, value: unknown): InvalidOptionError {
  return new InvalidOptionError(path, 'a value that JSON can hold', value);
}

function unreadable(path: string, value: unknown, thrown: unknown): InvalidOptionError {
  return new InvalidOptionError(path, `readable, but reading it threw "${messageOf(thrown)}"`, value, {cause: thrown});
}
