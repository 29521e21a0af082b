import {setImmediate} from 'node:timers';
import {InvalidOptionError} from '../errors.ts';
import {ManualTimer} from './manual-timer.ts';

/** How a `ManualClock` starts. */
export interface ManualClockOptions {
  /** What `Date.now()` says at first, in milliseconds since 1970. Default: the start of 2026. */
  readonly startMs?: number | undefined;
}

/** A timer that has not fired. */
export interface PendingTimer {
  /** When it is due, on `clock.nowMs`'s scale. */
  readonly dueMs: number;
  /** `false` after `unref()`: it would not keep the process. */
  readonly hasRef: boolean;
  readonly repeats: boolean;
}

/** What stands in for what on which object. */
type Replacement = readonly [target: object, key: string, value: unknown];

/** Node takes a longer delay, a negative one and `NaN` for 1 ms. */
const LONGEST_MS = 2_147_483_647;

let installed: ManualClock | undefined;

/**
 * Time that passes only when a test says so. While it is installed, `setTimeout`, `setInterval`, what clears them, `Date.now` and
 * `performance.now` are its own, with timer objects as Node has them. Timers fire by due time, and in the order they were set where that is
 * equal. Microtasks, `setImmediate`, I/O, `new Date()` and `AbortSignal.timeout` are left alone, and so is who took a function's reference
 * before.
 *
 * @example
 * ```ts
 * import {ManualClock} from 'sluice/testing';
 *
 * using clock = ManualClock.install();
 * let rang = false;
 * setTimeout(() => (rang = true), 60_000);
 * clock.advance(59_999);
 * console.log(rang, clock.pending.length);
 * clock.advance(1);
 * console.log(rang, clock.pending.length);
 * ```
 */
export class ManualClock implements Disposable {
  readonly #startMs: number;
  readonly #timers = new Set<ManualTimer>();
  readonly #restore: (() => void)[] = [];
  #nowMs = 0;

  private constructor(startMs: number) {
    this.#startMs = startMs;
  }

  /** Puts a clock in place of the real one. Throws if there is one already. */
  static install({startMs = Date.UTC(2026, 0, 1)}: ManualClockOptions = {}): ManualClock {
    if (installed) throw new Error('A ManualClock is installed already: uninstall it first');
    const clock = new ManualClock(startMs);
    for (const replacement of clock.#replacements()) clock.#restore.push(replace(replacement));
    installed = clock;
    return clock;
  }

  /** Virtual milliseconds since it was installed; what `performance.now()` says. */
  get nowMs(): number {
    return this.#nowMs;
  }

  /** All timers that have not fired, the next one first. */
  get pending(): readonly PendingTimer[] {
    return this.#inOrder().map((timer) => ({dueMs: timer.dueMs, hasRef: timer.hasRef(), repeats: timer.repeats}));
  }

  /** Lets time pass: fires everything that is due by then, also what is set meanwhile. Microtasks run only afterwards. */
  advance(ms: number): void {
    const untilMs = this.#after(ms);
    while ((this.#next()?.dueMs ?? Infinity) <= untilMs) this.advanceToNext();
    this.#nowMs = untilMs;
  }

  /** The same, with a turn of the event loop after each timer, so that what waits for it can go on and set the next one. */
  async advanceAsync(ms: number): Promise<void> {
    const untilMs = this.#after(ms);
    await turn();
    while ((this.#next()?.dueMs ?? Infinity) <= untilMs) {
      this.advanceToNext();
      await turn();
    }
    this.#nowMs = untilMs;
  }

  /** Fires the one timer that is due first, whenever that is; `false` if there is none. What its callback throws is thrown on. */
  advanceToNext(): boolean {
    const timer = this.#next();
    if (!timer) return false;
    this.#nowMs = Math.max(this.#nowMs, timer.dueMs);
    if (timer.repeats) timer.refresh();
    else this.#timers.delete(timer);
    timer.fire();
    return true;
  }

  /** Puts the real functions back. Timers that are pending never fire. Once is enough; a second time does nothing. */
  uninstall(): void {
    if (installed !== this) return;
    installed = undefined;
    for (const restore of this.#restore.splice(0)) restore();
    this.#timers.clear();
  }

  [Symbol.dispose](): void {
    this.uninstall();
  }

  #replacements(): Replacement[] {
    const real = globalThis.clearTimeout;
    const clear = (handle: unknown): void => {
      // A timer from before is real, and so is what clears it.
      if (typeof handle === 'object' && !(handle instanceof ManualTimer)) real(handle as NodeJS.Timeout);
      else this.#clear(handle);
    };
    return [
      [globalThis, 'setTimeout', (callback: Callback, ms?: unknown, ...args: unknown[]) => this.#set(callback, ms, args, false)],
      [globalThis, 'clearTimeout', clear],
      [globalThis, 'setInterval', (callback: Callback, ms?: unknown, ...args: unknown[]) => this.#set(callback, ms, args, true)],
      [globalThis, 'clearInterval', clear],
      [Date, 'now', () => this.#startMs + Math.floor(this.#nowMs)],
      [performance, 'now', () => this.#nowMs],
    ];
  }

  #set(callback: Callback, ms: unknown, args: readonly unknown[], repeats: boolean): ManualTimer {
    if (typeof callback !== 'function')
      throw new TypeError(`The "callback" argument must be of type function. Received ${typeof callback}`);
    const asked = Number(ms);
    const delayMs = asked >= 1 && asked <= LONGEST_MS ? Math.trunc(asked) : 1;
    const timer = new ManualTimer({fire: () => callback(...args), delayMs, repeats, nowMs: () => this.#nowMs, timers: this.#timers});
    return timer.refresh();
  }

  #clear(handle: unknown): void {
    if (handle instanceof ManualTimer) handle.close();
    else for (const timer of this.#timers) if (handle !== undefined && Number(timer) === Number(handle)) timer.close();
  }

  #after(ms: number): number {
    if (!(ms >= 0)) throw new InvalidOptionError('ms', 'a number of milliseconds, 0 or more', ms);
    return this.#nowMs + ms;
  }

  #next(): ManualTimer | undefined {
    return this.#inOrder()[0];
  }

  #inOrder(): ManualTimer[] {
    // The sort is stable, and a set keeps the order of insertion.
    return [...this.#timers].toSorted((left, right) => left.dueMs - right.dueMs);
  }
}

type Callback = (...args: readonly unknown[]) => void;

function replace([target, key, value]: Replacement): () => void {
  const own = Object.getOwnPropertyDescriptor(target, key);
  Object.defineProperty(target, key, {value, configurable: true, writable: true, enumerable: own?.enumerable ?? false});
  return () => {
    if (own) Object.defineProperty(target, key, own);
    else Reflect.deleteProperty(target, key);
  };
}

function turn(): Promise<void> {
  return new Promise((resolve) => void setImmediate(resolve));
}
