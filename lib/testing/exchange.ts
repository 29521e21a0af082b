import type {ServerResponse} from 'node:http';
import {performance} from 'node:perf_hooks';
import {clearTimeout, setTimeout} from 'node:timers';

/** How a response ended. */
export interface Closed {
  /** `true`: the client closed its side before the server had finished. */
  readonly early: boolean;
  /** Milliseconds from the request's arrival to the close. */
  readonly afterMs: number;
}

// Taken at load, so that a test's fake clock neither stops the server nor bends what it measures.
const now = performance.now.bind(performance);

/** One response under way, and a watch on its socket. */
export class Exchange {
  /** When the request arrived, on the process's real `performance.now()` scale. */
  readonly receivedAt: number = now();
  /** Settles when the response is over, whoever ended it. Never rejects. */
  readonly closed: Promise<Closed>;
  readonly response: ServerResponse;
  #bytesSent = 0;
  #ours = false;
  #closed: Closed | undefined;

  constructor(response: ServerResponse) {
    this.response = response;
    this.closed = new Promise((resolve) => {
      response.once('close', () => {
        this.#closed = {early: !this.#ours && !response.writableFinished, afterMs: now() - this.receivedAt};
        resolve(this.#closed);
      });
    });
  }

  /** Whether the response is over. */
  get isClosed(): boolean {
    return this.#closed !== undefined;
  }

  /** Whether the client has closed its side before the server had finished. */
  get closedEarly(): boolean {
    return this.#closed?.early ?? false;
  }

  /** When the response was over, on the scale of `receivedAt`; `undefined` before. */
  get endedAt(): number | undefined {
    return this.#closed && this.receivedAt + this.#closed.afterMs;
  }

  /** How many bytes of the body the server has written so far. */
  get bytesSent(): number {
    return this.#bytesSent;
  }

  /** From now on a close is the server's own doing. */
  own(): void {
    this.#ours = true;
  }

  /** Writes, and waits until the system has taken it, or the response is over. */
  async write(bytes: Uint8Array): Promise<void> {
    if (bytes.length === 0 || this.isClosed) return;
    this.#bytesSent += bytes.length;
    await this.orClosed(new Promise<void>((resolve) => this.response.write(bytes, () => resolve())));
  }

  /** Writes without waiting. */
  push(bytes: Uint8Array): void {
    this.#bytesSent += bytes.length;
    this.response.write(bytes);
  }

  /** Waits, but no longer than the response lives. */
  async pause(ms: number): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    await this.orClosed(new Promise<void>((resolve) => (timer = setTimeout(resolve, ms))));
    clearTimeout(timer);
  }

  /** What a promise gives; `undefined` if the response is over before. */
  orClosed<T>(promise: PromiseLike<T>): Promise<T | undefined> {
    if (this.isClosed) return Promise.resolve(undefined);
    return new Promise((resolve, reject) => {
      const stop = (): void => resolve(undefined);
      const unlink = (): unknown => this.response.off('close', stop);
      this.response.once('close', stop);
      promise.then(
        (value) => {
          unlink();
          resolve(value);
        },
        (error: unknown) => {
          unlink();
          reject(error);
        },
      );
    });
  }
}
