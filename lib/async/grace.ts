import type {Lifetime} from './lifetime.ts';
import type {Timers} from './timers.ts';

/**
 * The time that foreign work gets to react to the end of a life. One timer for all of it, and one callback per piece of work that is under
 * way: racing each piece against a long-lived promise would leave a reaction on that promise for every race.
 */
export class Grace {
  #waiting: Set<() => void> | undefined;
  #over = false;

  /** @param ms - from the end of `life`, in milliseconds */
  constructor(life: Lifetime, ms: number, timers: Timers) {
    life.onEnd(() =>
      timers.set(ms, () => {
        this.#over = true;
        for (const callback of this.#waiting ?? []) callback();
        this.#waiting = undefined;
      }),
    );
  }

  /** Calls back when the grace is over, at once if it is; returns what takes that back. */
  onOver(callback: () => void): () => void {
    if (this.#over) {
      callback();
      return () => {};
    }
    const waiting = (this.#waiting ??= new Set());
    waiting.add(callback);
    return () => waiting.delete(callback);
  }
}
