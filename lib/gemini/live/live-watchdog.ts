import {LONGEST_MS, Timers} from '../../async/timers.ts';
import {ModelError} from '../../errors.ts';

/** What the watchdog does to the connection that it watches. */
export interface Watched {
  ping(): void;
  /** It is not usable any more. */
  give(error: ModelError): void;
}

/**
 * Finds out that a model owes an answer and says nothing, and that a peer is gone without a word: TCP tells neither.
 *
 * It notes times and sets one timer, which looks at them and is set again for what is left: frames come too often for a timer each.
 */
export class LiveWatchdog {
  readonly #idleMs: number;
  readonly #watched: Watched;
  /** They hold no process: what does is the socket. */
  readonly #timers = new Timers();
  #frameAt = performance.now();
  #messageAt = this.#frameAt;
  #owedSince: number | undefined;
  #pingedAt: number | undefined;
  #overdue = false;

  /** @param idleMs - Infinity, or more than a timer takes: nothing is watched */
  constructor(idleMs: number, watched: Watched) {
    this.#idleMs = idleMs;
    this.#watched = watched;
    if (idleMs <= LONGEST_MS) this.#arm(idleMs / 2);
  }

  /** Any frame came, a pong included: the peer lives. */
  frame(): void {
    this.#frameAt = performance.now();
    this.#pingedAt = undefined;
    this.#overdue = false;
  }

  /** A message came. `owes`: whether more must follow now; without it, nothing has changed. */
  message(owes?: boolean): void {
    this.#messageAt = performance.now();
    if (owes === false) this.#owedSince = undefined;
    else if (owes) this.#owedSince ??= this.#messageAt;
  }

  /** The model was asked for something. */
  asked(): void {
    this.#owedSince = performance.now();
  }

  stop(): void {
    this.#timers.clear();
  }

  #arm(ms: number): void {
    this.#timers.set(Math.ceil(ms), this.#look);
  }

  readonly #look = (): void => {
    const now = performance.now();
    const failure = this.#failure(now);
    if (failure !== undefined && this.#overdue) return this.#watched.give(failure);
    // Timers run before sockets are read. If the event loop was blocked, what is missed may lie there: look once more after they were.
    this.#overdue = failure !== undefined;
    if (this.#overdue) return this.#arm(0);
    if (this.#pingedAt === undefined && now - this.#frameAt >= this.#idleMs / 2) {
      this.#pingedAt = now;
      this.#watched.ping();
    }
    this.#arm(Math.min(this.#silentAt(), this.#goneAt()) - now);
  };

  #failure(now: number): ModelError | undefined {
    const ms = this.#idleMs;
    if (this.#pingedAt !== undefined && now >= this.#goneAt())
      return new ModelError(`The server did not answer a ping, and sent nothing for ${ms} ms`, {code: 'CONNECTION_LOST', retryable: true});
    if (now >= this.#silentAt()) return new ModelError(`The model sent nothing within ${ms} ms`, {code: 'IDLE_TIMEOUT', retryable: true});
    return undefined;
  }

  /** When the wait for an answer has been too long. */
  #silentAt(): number {
    return this.#owedSince === undefined ? Infinity : Math.max(this.#owedSince, this.#messageAt) + this.#idleMs;
  }

  /** When a ping is due; once it is sent, when the peer counts as gone. A ping that was sent late has its time nevertheless. */
  #goneAt(): number {
    const half = this.#idleMs / 2;
    return this.#pingedAt === undefined ? this.#frameAt + half : Math.max(this.#frameAt + this.#idleMs, this.#pingedAt + half);
  }
}
