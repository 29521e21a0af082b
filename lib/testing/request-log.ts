/** The requests that a server has seen, and a way to wait for the next one. */
export class RequestLog<T> {
  readonly all: T[] = [];
  readonly #waiting: {resolve: (request: T) => void; reject: (error: Error) => void}[] = [];
  #handedOut = 0;
  #closed = false;

  add(request: T): void {
    this.all.push(request);
    const waiting = this.#waiting.shift();
    waiting?.resolve(request);
  }

  /** The first request that no earlier call got, at once or when it comes. Rejects when the log is closed before. */
  next(): Promise<T> {
    const request = this.all[this.#handedOut++];
    if (request !== undefined) return Promise.resolve(request);
    const next = new Promise<T>((resolve, reject) => this.#waiting.push({resolve, reject}));
    // Who waits is told; a test that no longer does must not fail by it.
    next.catch(() => {});
    if (this.#closed) this.close();
    return next;
  }

  close(): void {
    this.#closed = true;
    for (const waiting of this.#waiting.splice(0)) waiting.reject(new Error('The server was closed before another request came'));
  }
}
