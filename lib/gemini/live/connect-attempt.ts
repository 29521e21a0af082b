import {ModelError} from '../../errors.ts';

// setTimeout fires at once for more than this.
const maxTimerMs = 2_147_483_647;

/** The way to a connection, which can be ended at any moment by the caller's signal or by its deadline. */
export class ConnectAttempt {
  readonly #caller: AbortSignal | undefined;
  readonly #connectMs: number;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #overdue = false;
  #ended: {readonly reason: unknown} | undefined;
  #abandonWait: ((reason: unknown) => void) | undefined;

  constructor(caller: AbortSignal | undefined, connectMs: number) {
    this.#caller = caller;
    this.#connectMs = connectMs;
    caller?.addEventListener('abort', this.#onAbort);
    if (connectMs <= maxTimerMs) this.#arm(connectMs);
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
    clearTimeout(this.#timer);
  }

  readonly #onAbort = (): void => this.#end(this.#caller?.reason);

  readonly #onTimer = (): void => {
    if (this.#overdue) {
      const message = `The live connection was not ready within ${this.#connectMs} ms`;
      return this.#end(new ModelError(message, {code: 'CONNECT_TIMEOUT', retryable: true}));
    }
    // Timers run before sockets are read. If the event loop was blocked, the answer may lie there: look once more after they were.
    this.#overdue = true;
    this.#arm(0);
  };

  #arm(ms: number): void {
    this.#timer = setTimeout(this.#onTimer, Math.ceil(ms));
    // What holds the process is the socket.
    (this.#timer as {unref?: () => void}).unref?.();
  }

  #end(reason: unknown): void {
    if (this.#ended !== undefined) return;
    this.#ended = {reason};
    this.#abandonWait?.(reason);
  }
}
