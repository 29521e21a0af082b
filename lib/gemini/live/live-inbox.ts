/**
 * What has come and waits for its reader, in order: an async iterator that is filled from outside.
 *
 * No generator, since a generator's `return()` waits for its pending `next()`, which would keep a reader until the peer says something.
 */
export class LiveInbox<T> implements AsyncGenerator<T, void, undefined> {
  #unread: T[] = [];
  #readers: PromiseWithResolvers<IteratorResult<T, void>>[] = [];
  #ended = false;
  #failure: {readonly error: unknown} | undefined;

  /** Once it has ended nothing is kept any more. */
  push(value: T): void {
    if (this.#ended) return;
    const reader = this.#readers.shift();
    if (reader === undefined) this.#unread.push(value);
    else reader.resolve({done: false, value});
  }

  /** Ends with an error, after what is unread. */
  fail(error: unknown): void {
    if (this.#ended) return;
    const reader = this.#readers.shift();
    if (reader === undefined) this.#failure = {error};
    else reader.reject(error);
    this.#ended = true;
    this.#dismiss();
  }

  /** Ends at once; what is unread is dropped. */
  end(): void {
    this.#ended = true;
    this.#unread = [];
    this.#failure = undefined;
    this.#dismiss();
  }

  async next(): Promise<IteratorResult<T, void>> {
    const value = this.#unread.shift();
    if (value !== undefined) return {done: false, value};
    if (!this.#ended) {
      const reader = Promise.withResolvers<IteratorResult<T, void>>();
      this.#readers.push(reader);
      return reader.promise;
    }
    const failure = this.#failure;
    if (failure === undefined) return {done: true, value: undefined};
    this.#failure = undefined;
    throw failure.error;
  }

  async return(): Promise<IteratorResult<T, void>> {
    this.end();
    return {done: true, value: undefined};
  }

  async throw(error: unknown): Promise<IteratorResult<T, void>> {
    this.end();
    throw error;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.end();
  }

  #dismiss(): void {
    const readers = this.#readers;
    this.#readers = [];
    for (const reader of readers) reader.resolve({done: true, value: undefined});
  }
}
