import {delay} from 'abort-controller-x';

import {type Deadline, ReadClock} from './read-clock.ts';

/**
 * One model call, which can be ended from outside at any moment: by the caller's signal or by a deadline. Every wait goes through it, so
 * that an end is seen at once even by waits that know no signal, such as the fetching of an auth token.
 *
 * Each HTTP request gets a controller of its own: genai leaves a listener on the signal that it is given for ever, and closes its socket
 * on nothing but an abort.
 */
export class CallLifetime {
  readonly #caller: AbortSignal | undefined;
  readonly #clock: ReadClock;
  #request = new AbortController();
  #ended: {readonly reason: unknown} | undefined;
  #abandonWait: ((reason: unknown) => void) | undefined;

  constructor(caller: AbortSignal | undefined, totalMs: number) {
    this.#caller = caller;
    this.#clock = new ReadClock(totalMs, (error) => this.#end(error));
    caller?.addEventListener('abort', this.#onAbort);
  }

  /** The signal of the current HTTP request. */
  get signal(): AbortSignal {
    return this.#request.signal;
  }

  /** Gives the next HTTP request a signal of its own and makes sure that the last one is gone. */
  renew(): void {
    this.#request.abort();
    this.#request = new AbortController();
  }

  /** Waits for something; rejects at once when the call ends or the deadline passes. One wait at a time. */
  wait<T>(promise: PromiseLike<T>, deadline: Deadline): Promise<T> {
    return new Promise((resolve, reject) => {
      if (this.#ended !== undefined) reject(this.#ended.reason);
      else {
        this.#abandonWait = reject;
        this.#clock.start(deadline);
      }
      promise.then(
        (value) => {
          this.#clock.stop();
          resolve(value);
        },
        (error: unknown) => {
          this.#clock.stop();
          reject(error);
        },
      );
    });
  }

  /** Sleeps between two requests; rejects at once when the call ends. `false`, at once, if there is not so much time left. */
  async sleep(ms: number): Promise<boolean> {
    if (ms >= this.#clock.leftMs) return false;
    this.#clock.spend(ms);
    try {
      await delay(this.signal, ms);
    } catch (error) {
      this.throwIfEnded();
      throw error;
    }
    return true;
  }

  /** Throws the caller's own reason, or the deadline's error, if that is what ended the call. */
  throwIfEnded(): void {
    this.#caller?.throwIfAborted();
    if (this.#ended !== undefined) throw this.#ended.reason;
  }

  /** Closes the socket if it is still open, and leaves no listener and no timer. */
  close(): void {
    this.#caller?.removeEventListener('abort', this.#onAbort);
    this.#clock.close();
    this.#request.abort();
  }

  readonly #onAbort = (): void => this.#end(this.#caller?.reason);

  #end(reason: unknown): void {
    if (this.#ended !== undefined) return;
    this.#ended = {reason};
    this.#clock.close();
    this.#request.abort(reason);
    this.#abandonWait?.(reason);
  }
}
