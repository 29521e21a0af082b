/** The longest delay that a host's timer takes; anything longer would fire at once. */
export const LONGEST_MS = 2_147_483_647;

type Handle = ReturnType<typeof setTimeout>;

/**
 * The timers of one owner. They hold the process only while the owner is at work: a timer of somebody who waits for nothing must not
 * keep a program from exiting.
 */
export class Timers {
  readonly #live = new Set<Handle>();
  #holds = 0;

  /** Calls back once after `ms`; returns what cancels it. A delay over 2,147,483,647 arms no timer. */
  set(ms: number, callback: () => void): () => void {
    if (!(ms <= LONGEST_MS)) return () => {};
    const handle = setTimeout(() => {
      this.#live.delete(handle);
      callback();
    }, ms);
    this.#live.add(handle);
    if (this.#holds === 0) unref(handle);
    return () => {
      if (this.#live.delete(handle)) clearTimeout(handle);
    };
  }

  /** From now on, until as many `release()`, the timers hold the process. */
  hold(): void {
    if (this.#holds++ === 0) for (const handle of this.#live) ref(handle);
  }

  release(): void {
    if (--this.#holds === 0) for (const handle of this.#live) unref(handle);
  }

  /** Cancels all that is left. */
  clear(): void {
    for (const handle of this.#live) clearTimeout(handle);
    this.#live.clear();
  }
}

// Only Node and its kin have timer objects; a browser's timer is a number and holds nothing.
function ref(handle: Handle): void {
  if (typeof handle === 'object') handle.ref();
}

function unref(handle: Handle): void {
  if (typeof handle === 'object') handle.unref();
}
