import {copyJson} from '../schema/json-copy.ts';

/**
 * A view of a session's state that collects what is written to it. Reads see the writes at once; they are stored with the Event that
 * carries them. What `get` returns is the caller's own copy: to change a stored object, change the copy and `set` it.
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

  /**
   * @param value - the state to read
   * @param delta - the record that takes the writes, usually an Event's `actions.stateDelta`
   */
  constructor(value: Readonly<Record<string, unknown>> = {}, delta: Record<string, unknown> = {}) {
    this.#base = value;
    this.#delta = delta;
  }

  /** The value of a key, or `defaultValue` where there is none. */
  get<T = unknown>(key: string): T | undefined;
  get<T>(key: string, defaultValue: T): T;
  get<T>(key: string, defaultValue?: T): T | undefined {
    const value = this.#lookup(key);
    return value === undefined ? defaultValue : (copyJson(value) as T);
  }

  has(key: string): boolean {
    return this.#lookup(key) !== undefined;
  }

  /** Sets a key. `undefined` removes it. */
  set(key: string, value: unknown): void {
    this.#delta[key] = value === undefined ? State.REMOVED : value;
  }

  /** Removes a key. */
  delete(key: string): void {
    this.#delta[key] = State.REMOVED;
  }

  /** Sets several keys. */
  update(delta: Readonly<Record<string, unknown>>): void {
    for (const [key, value] of Object.entries(delta)) this.set(key, value);
  }

  /** Whether anything was written. */
  hasDelta(): boolean {
    return Object.keys(this.#delta).length > 0;
  }

  /** The whole state as seen here, as a copy. */
  toRecord(): Record<string, unknown> {
    return copyJson(applyDelta(this.#base, this.#delta)) as Record<string, unknown>;
  }

  #lookup(key: string): unknown {
    const value = Object.hasOwn(this.#delta, key) ? this.#delta[key] : Object.hasOwn(this.#base, key) ? this.#base[key] : undefined;
    return value === State.REMOVED ? undefined : value;
  }
}

/** A new state: `state` with `delta` applied and removed keys gone. Returns `state` itself where nothing changes. */
export function applyDelta(state: Readonly<Record<string, unknown>>, delta: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const keys = Object.keys(delta);
  if (keys.length === 0) return state as Record<string, unknown>;
  const next = {...state};
  for (const key of keys) {
    if (delta[key] === State.REMOVED) delete next[key];
    else next[key] = delta[key];
  }
  return next;
}
