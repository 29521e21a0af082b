/** The timers that a run has set itself, not the user code in it, and that have not fired. Stands before the clock that is installed. */
export class OwnedTimers implements Disposable {
  readonly #live = new Set<NodeJS.Timeout>();
  readonly #set = globalThis.setTimeout;
  readonly #clear = globalThis.clearTimeout;

  /** @param isForeign - whether the timer that is just being set is the user's */
  constructor(isForeign: () => boolean) {
    const live = this.#live;
    const set = this.#set as (callback: (...args: unknown[]) => void, ms?: number, ...args: unknown[]) => NodeJS.Timeout;
    const clear = this.#clear;
    globalThis.setTimeout = ((callback: (...args: unknown[]) => void, ms?: number, ...args: unknown[]) => {
      if (isForeign()) return set(callback, ms, ...args);
      const timer = set(
        (...given) => {
          live.delete(timer);
          callback(...given);
        },
        ms,
        ...args,
      );
      live.add(timer);
      return timer;
    }) as typeof setTimeout;
    globalThis.clearTimeout = ((timer: NodeJS.Timeout | undefined) => {
      if (timer !== undefined) live.delete(timer);
      clear(timer);
    }) as typeof clearTimeout;
  }

  get count(): number {
    return this.#live.size;
  }

  /** How many of them would keep the process. */
  get holding(): number {
    return [...this.#live].filter((timer) => timer.hasRef()).length;
  }

  [Symbol.dispose](): void {
    globalThis.setTimeout = this.#set;
    globalThis.clearTimeout = this.#clear;
  }
}
