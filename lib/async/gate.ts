import pLimit from 'p-limit';

/** Lets at most so many thunks run at a time; the others queue, in order, and are never refused. */
export class Gate {
  readonly #concurrency: number;
  #limit: ReturnType<typeof pLimit> | undefined;

  constructor(concurrency: number) {
    this.#concurrency = concurrency;
  }

  /** Runs `thunk`, which must not reject, when its place comes; resolves with `dropped()` if the queue is cleared before. */
  run<T>(thunk: () => Promise<T>, dropped: () => T): Promise<T> {
    // Without `rejectOnClear` the promises of a cleared queue stay pending for ever.
    this.#limit ??= pLimit({concurrency: this.#concurrency, rejectOnClear: true});
    return this.#limit(thunk).catch(dropped);
  }

  /** A thunk that only waits for others lends its place: one more may run, until the function that this returns is called. */
  lend(): () => void {
    const limit = this.#limit;
    if (!limit) return () => {};
    limit.concurrency++;
    return () => void limit.concurrency--;
  }

  /** Drops everything that has not started. */
  clear(): void {
    this.#limit?.clearQueue();
  }
}
