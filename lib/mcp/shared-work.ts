import {Lifetime} from '../async/lifetime.ts';

/** Work that several wait for together: it is ended when the last of them has left, and not before. */
export class SharedWork<T> {
  /** Ends when nobody waits any more, or when it is given up. */
  readonly #life = new Lifetime();
  readonly #result: Promise<T>;
  #waiting = 0;
  #settled = false;

  /** @param begin - starts the work; has to settle soon after `life` has ended */
  constructor(begin: (life: Lifetime) => Promise<T>) {
    this.#result = begin(this.#life);
    const settle = (): void => void (this.#settled = true);
    this.#result.then(settle, settle);
  }

  /** Whether one may still join: it is under way, and nobody has ended it. */
  get isOpen(): boolean {
    return !this.#settled && !this.#life.ended;
  }

  /** Settles when the work is over, whatever it came to, also where nobody waits. */
  get over(): Promise<unknown> {
    return this.#result.catch(() => {});
  }

  /** Ends the work for everybody. */
  end(reason: unknown): void {
    if (!this.#settled) this.#life.end(reason);
  }

  /**
   * Waits for what the work comes to.
   *
   * @throws the signal's reason, at once, when it fires; the work goes on for the others
   */
  join(signal: AbortSignal | undefined): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#waiting++;
      const leave = (): void => {
        signal?.removeEventListener('abort', stop);
        if (--this.#waiting === 0) this.end(signal?.reason);
      };
      const stop = (): void => {
        reject(signal?.reason as Error);
        leave();
      };
      this.#result.then(resolve, reject).finally(() => {
        if (!signal?.aborted) leave();
      });
      if (signal?.aborted) stop();
      else signal?.addEventListener('abort', stop, {once: true});
    });
  }
}
