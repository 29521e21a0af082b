import type {Lifetime} from './lifetime.ts';
import type {Timers} from './timers.ts';

/**
 * The time that foreign work gets to react to the end of a life. One timer for all of it, and one callback per piece of work that is under
 * way: racing each piece against a long-lived promise would leave a reaction on that promise for every race.
 */
export class Grace {
  readonly #waiting = new Set<() => void>();
  #over = false;

  /** @param ms - from the end of `life`, in milliseconds */
  constructor(life: Lifetime, ms: number, timers: Timers) {
    life.onEnd(() =>
      timers.set(ms, () => {
        this.#over = true;
        for (const callback of this.#waiting) callback();
        this.#waiting.clear();
      }),
    );
  }

  /** Calls back when the grace is over, at once if it is; returns what takes that back. */
  onOver(callback: () => void): () => void {
    if (this.#over) {
      callback();
      return () => {};
    }
    this.#waiting.add(callback);
    return () => this.#waiting.delete(callback);
  }
}
