import {Timers} from '../../async/timers.ts';
import {ModelError} from '../../errors.ts';

/** The way to a connection, which can be ended at any moment by the caller's signal or by its deadline. */
export class ConnectAttempt {
  readonly #caller: AbortSignal | undefined;
  readonly #connectMs: number;
  /** They hold no process: what does is the socket. */
  readonly #timers = new Timers();
  #overdue = false;
  #ended: {readonly reason: unknown} | undefined;
  #abandonWait: ((reason: unknown) => void) | undefined;

  constructor(caller: AbortSignal | undefined, connectMs: number) {
    this.#caller = caller;
    this.#connectMs = connectMs;
    caller?.addEventListener('abort', this.#onAbort);
    this.#timers.set(Math.ceil(connectMs), this.#onTimer);
  }

  /** Waits for something; rejects at once when the attempt ends. One wait at a time. */
  wait<T>(promise: PromiseLike<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      if (this.#ended !== undefined) reject(this.#ended.reason);
      else this.#abandonWait = reject;
      promise.then(resolve, reject);
    });
  }

  /** Throws the caller's own reason, or the deadline's error, if that is what ended the attempt. */
  throwIfEnded(): void {
    if (this.#ended !== undefined) throw this.#ended.reason;
  }

  /** Leaves no listener and no timer. */
  close(): void {
    this.#caller?.removeEventListener('abort', this.#onAbort);
    this.#timers.clear();
  }

  readonly #onAbort = (): void => this.#end(this.#caller?.reason);

  readonly #onTimer = (): void => {
    if (this.#overdue) {
      const message = `The live connection was not ready within ${this.#connectMs} ms`;
      return this.#end(new ModelError(message, {code: 'CONNECT_TIMEOUT', retryable: true}));
    }
    // Timers run before sockets are read. If the event loop was blocked, the answer may lie there: look once more after they were.
    this.#overdue = true;
    this.#timers.set(0, this.#onTimer);
  };

  #end(reason: unknown): void {
    if (this.#ended !== undefined) return;
    this.#ended = {reason};
    this.#abandonWait?.(reason);
  }
}
