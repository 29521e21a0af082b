export interface ManualTimerOptions {
  readonly fire: () => void;
  readonly delayMs: number;
  readonly repeats: boolean;
  readonly nowMs: () => number;
  /** Where it stands while it is pending. */
  readonly timers: Set<ManualTimer>;
}

let lastId = 0;

/** A timer as Node hands it out, on a clock of its own. */
export class ManualTimer implements Disposable {
  readonly fire: () => void;
  readonly repeats: boolean;
  dueMs = 0;

  readonly #id = ++lastId;
  readonly #options: ManualTimerOptions;
  #hasRef = true;

  constructor(options: ManualTimerOptions) {
    this.fire = options.fire;
    this.repeats = options.repeats;
    this.#options = options;
  }

  ref(): this {
    this.#hasRef = true;
    return this;
  }

  unref(): this {
    this.#hasRef = false;
    return this;
  }

  hasRef(): boolean {
    return this.#hasRef;
  }

  /** Starts it anew from now. */
  refresh(): this {
    const {nowMs, delayMs, timers} = this.#options;
    this.dueMs = nowMs() + delayMs;
    timers.delete(this);
    timers.add(this);
    return this;
  }

  close(): this {
    this.#options.timers.delete(this);
    return this;
  }

  [Symbol.toPrimitive](): number {
    return this.#id;
  }

  [Symbol.dispose](): void {
    this.close();
  }
}
