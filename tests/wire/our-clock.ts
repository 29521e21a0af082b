import {vi} from 'vitest';

/**
 * A clock that stands still for the timers of this project, until the test moves it. Node's own HTTP client, which takes the global timers
 * too, keeps the real ones: its sockets are real.
 */
export class OurClock implements Disposable {
  /** The delay of every timer that was set, in milliseconds. */
  readonly delays: number[] = [];

  constructor() {
    const real = globalThis.setTimeout;
    vi.useFakeTimers({toFake: ['setTimeout', 'clearTimeout'], shouldClearNativeTimers: true});
    const fake = globalThis.setTimeout;
    const either = (callback: () => void, ms = 0): unknown => {
      if (new Error().stack?.includes('node:internal/deps/undici')) return real(callback, ms);
      this.delays.push(ms);
      return fake(callback, ms);
    };
    globalThis.setTimeout = either as typeof setTimeout;
  }

  /** How many timers are set. */
  get pending(): number {
    return vi.getTimerCount();
  }

  /** Lets time pass, timer by timer. */
  async pass(ms: number): Promise<void> {
    await vi.advanceTimersByTimeAsync(ms);
  }

  [Symbol.dispose](): void {
    vi.useRealTimers();
  }
}
