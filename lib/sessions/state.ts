import {InvalidOptionError} from '../errors.ts';
import {checkedCopy, copyJson, setOwn} from '../schema/json-copy.ts';
import {checkRecord} from './check-session-arguments.ts';

/**
 * The types of state keys, for programs that declare them: `get` then gives that type, and `set` takes no other. Keys that are not declared
 * are `unknown`. Nothing is checked while the program runs.
 *
 * @example
 * ```ts
 * import {FunctionTool} from 'sluice';
 *
 * declare module 'sluice' {
 *   interface StateTypes {
 *     'user:visits': number;
 *   }
 * }
 * export const greet = new FunctionTool({
 *   name: 'greet',
 *   description: 'Greets the user.',
 *   execute: (_args, {state}) => {
 *     const visits = state.get('user:visits', 0) + 1;
 *     state.set('user:visits', visits);
 *     return `Welcome, for the ${visits}. time.`;
 *   },
 * });
 * ```
 */
export interface StateTypes {}

/**
 * A view of a session's state that collects what is written to it. Reads see the writes at once; they are stored with the Event that
 * carries them.
 *
 * Values are copied on the way in and on the way out: to change a stored object, change what `get` gave and `set` it. They are JSON, since
 * that is what every store keeps; a Date becomes its ISO string.
 *
 * @example
 * ```ts
 * import {State} from 'sluice';
 *
 * const state = new State({'user:name': 'Ada', visits: 1});
 * state.set('visits', state.get('visits', 0) + 1);
 * state.delete('user:name');
 * console.log(state.toRecord()); // {visits: 2}
 * ```
 */
export class State {
  /** Keys shared by all users of an app. */
  static readonly APP_PREFIX = 'app:';
  /** Keys shared by all sessions of a user. */
  static readonly USER_PREFIX = 'user:';
  /** Keys that live as long as the run, and are never stored. */
  static readonly TEMP_PREFIX = 'temp:';
  /** The value that stands in a `stateDelta` for a key that is removed. */
  static readonly REMOVED = '__ADK_SENTINEL_REMOVED__';

  readonly #base: Readonly<Record<string, unknown>>;
  readonly #delta: Record<string, unknown>;
  readonly #check: (() => void) | undefined;

  /**
   * @param value - the state to read
   * @param delta - the record that takes the writes, usually an Event's `actions.stateDelta`
   * @param check - called before each use: whoever holds a state may keep it longer than it is to be used. Throws to refuse
   * @throws {@link InvalidOptionError} where either is no record
   */
  constructor(value: Readonly<Record<string, unknown>> = {}, delta: Record<string, unknown> = {}, check?: () => void) {
    checkRecord('value', value);
    checkRecord('delta', delta);
    this.#base = value;
    this.#delta = delta;
    this.#check = check;
  }

  /**
   * The value of a key, or `defaultValue` where there is none. `null` is a value.
   *
   * @throws {@link InvalidOptionError} where the key is no string
   */
  get<K extends keyof StateTypes>(key: K): StateTypes[K] | undefined;
  get<T = unknown>(key: string): T | undefined;
  get<K extends keyof StateTypes>(key: K, defaultValue: StateTypes[K]): StateTypes[K];
  get<T>(key: string, defaultValue: T): T;
  get<T>(key: string, defaultValue?: T): T | undefined {
    const value = this.#lookup(key);
    return value === undefined ? defaultValue : (copyJson(value) as T);
  }

  /**
   * Whether a key has a value.
   *
   * @throws {@link InvalidOptionError} where the key is no string
   */
  has(key: string): boolean {
    return this.#lookup(key) !== undefined;
  }

  /**
   * Sets a key. `undefined` removes it.
   *
   * @throws {@link InvalidOptionError} where the key is no string, or JSON cannot hold the value; nothing is written then
   */
  set<K extends keyof StateTypes>(key: K, value: StateTypes[K] | undefined): void;
  set<K extends string>(key: K extends keyof StateTypes ? never : K, value: unknown): void;
  set(key: string, value: unknown): void {
    this.#check?.();
    const stored = storable(key, value);
    setOwn(this.#delta, key, stored === undefined ? State.REMOVED : stored);
  }

  /**
   * Removes a key; it is no error if it is not there.
   *
   * @throws {@link InvalidOptionError} where the key is no string
   */
  delete(key: string): void {
    this.#check?.();
    checkKey(key);
    setOwn(this.#delta, key, State.REMOVED);
  }

  /**
   * Sets several keys: all of them, or none where one is refused.
   *
   * @throws {@link InvalidOptionError} where `delta` is no record, or JSON cannot hold one of its values
   */
  update(delta: Readonly<Partial<StateTypes> & Record<string, unknown>>): void {
    checkRecord('delta', delta);
    const keys = Object.keys(delta);
    for (const key of keys) storable(key, delta[key]);
    for (const key of keys) this.set(key, delta[key]);
  }

  /** Whether anything was written. */
  hasDelta(): boolean {
    return Object.keys(this.#delta).length > 0;
  }

  /** The whole state as seen here, as a copy. */
  toRecord(): Record<string, unknown> {
    this.#check?.();
    return copyJson(applyDelta(this.#base, this.#delta));
  }

  #lookup(key: string): unknown {
    this.#check?.();
    checkKey(key);
    const written = Object.hasOwn(this.#delta, key) ? this.#delta[key] : undefined;
    if (written === State.REMOVED) return undefined;
    if (written !== undefined) return written;
    return Object.hasOwn(this.#base, key) ? this.#base[key] : undefined;
  }
}

/**
 * A new state: `state` with `delta` applied and removed keys gone. A key of the delta whose value is `undefined` changes nothing, as it
 * is not there in JSON. Returns `state` itself where the delta is empty.
 */
export function applyDelta(state: Readonly<Record<string, unknown>>, delta: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const keys = Object.keys(delta);
  if (keys.length === 0) return state;
  const next = {...state};
  for (const key of keys) writeKey(next, key, delta[key]);
  return next;
}

/** Applies one key of a delta to a record in place. */
export function writeKey(record: Record<string, unknown>, key: string, value: unknown): void {
  if (value === State.REMOVED) delete record[key];
  else if (value !== undefined) setOwn(record, key, value);
}

/** A state delta without what lives only as long as the run; the delta itself where it holds nothing such. */
export function withoutTemporary(delta: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const keys = Object.keys(delta);
  if (!keys.some(isTemporary)) return delta;
  const kept: Record<string, unknown> = {};
  for (const key of keys) if (!isTemporary(key)) setOwn(kept, key, delta[key]);
  return kept;
}

/** Whether a key lives only as long as the run. */
export function isTemporary(key: string): boolean {
  return key.startsWith(State.TEMP_PREFIX);
}

function storable(key: string, value: unknown): unknown {
  checkKey(key);
  return checkedCopy(value, `state[${JSON.stringify(key)}]`);
}

function checkKey(key: unknown): void {
  if (typeof key !== 'string') throw new InvalidOptionError('key', 'a string, the name of a state key', key);
}
