/**
 * What running calls show on their way, handed over one at a time: a call goes on only when its reader has taken what it showed, so
 * nothing runs ahead and nothing piles up.
 */
export class Progress<T> {
  readonly #items: {value: T; taken: () => void}[] = [];
  #taker: (() => void) | undefined;
  #closed = false;

  /** Shows a value; resolves when it was taken, or when nobody will take it any more, or when the signal fires. */
  show(value: T, abortSignal: AbortSignal): Promise<void> {
    if (this.#closed || abortSignal.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      const taken = (): void => {
        abortSignal.removeEventListener('abort', withdraw);
        resolve();
      };
      const item = {value, taken};
      const withdraw = (): void => {
        const at = this.#items.indexOf(item);
        if (at >= 0) this.#items.splice(at, 1);
        taken();
      };
      abortSignal.addEventListener('abort', withdraw, {once: true});
      this.#items.push(item);
      this.#taker?.();
    });
  }

  /** The next value, or `undefined` once everything has been taken and `close` was called. One taker at a time. */
  take(): Promise<{value: T} | undefined> {
    return new Promise((resolve) => {
      const take = (): void => {
        const item = this.#items.shift();
        if (!item && !this.#closed) return;
        this.#taker = undefined;
        item?.taken();
        resolve(item);
      };
      this.#taker = take;
      take();
    });
  }

  /** Nothing more will be shown. */
  close(): void {
    this.#closed = true;
    this.#taker?.();
  }

  /** Nothing more will be taken: lets go of whoever waits. */
  discard(): void {
    this.close();
    for (const item of this.#items.splice(0)) item.taken();
  }
}
