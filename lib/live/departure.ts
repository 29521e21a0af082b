import type {Timers} from '../async/timers.ts';

/** What is left of the time that a server names is not used up: the next connection needs some of it. */
const MARGIN_MS = 1_000;
/** Where the server does not say when. */
const SOON_MS = 5_000;

export interface DepartureOptions {
  readonly timers: Timers;
  /** Whether something is under way that leaving would cut off. */
  readonly isBusy: () => boolean;
  readonly leave: () => void;
}

/** When to leave a connection whose server says that it goes: at the first quiet moment, and before its time is up. */
export class Departure {
  readonly #options: DepartureOptions;
  #cancel: (() => void) | undefined;

  constructor(options: DepartureOptions) {
    this.#options = options;
  }

  /** @param timeLeft - as the server writes it, such as `9.5s` */
  announce(timeLeft: string | undefined): void {
    const [, seconds] = /^(\d+(?:\.\d+)?)s$/.exec(timeLeft ?? '') ?? [];
    const ms = seconds === undefined ? SOON_MS : Number(seconds) * 1000;
    this.#cancel?.();
    this.#cancel = this.#options.timers.set(Math.max(ms - MARGIN_MS, ms / 2), () => this.#leave());
    this.check();
  }

  /** To be asked whenever something has ended. */
  check(): void {
    if (this.#cancel && !this.#options.isBusy()) this.#leave();
  }

  /** The connection is gone, by whatever cause. */
  reset(): void {
    this.#cancel?.();
    this.#cancel = undefined;
  }

  #leave(): void {
    this.reset();
    this.#options.leave();
  }
}
