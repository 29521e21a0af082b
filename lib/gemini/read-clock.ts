import {LONGEST_MS} from '../async/timers.ts';
import {ModelError} from '../errors.ts';

/** How long one wait may take, and what it is called when it takes longer. */
export interface Deadline {
  readonly ms: number;
  readonly code: 'FIRST_CHUNK_TIMEOUT' | 'IDLE_TIMEOUT' | 'TOTAL_TIMEOUT';
}

/**
 * The deadlines of one model call. They run only between `start` and `stop`, so the time in which a reader does something else never
 * counts.
 *
 * A stream starts and stops the clock for each chunk, so that costs no timer: one timer is left to run, and when it fires early it is set
 * again for what is left.
 */
export class ReadClock {
  readonly #totalMs: number;
  readonly #onExpired: (error: ModelError) => void;
  #leftMs: number;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #timerDueAt = Infinity;
  #running = false;
  #startedAt = 0;
  #limitAt = Infinity;
  #deadline: Deadline;
  #wait = 0;
  #overdueWait = 0;

  constructor(totalMs: number, onExpired: (error: ModelError) => void) {
    this.#totalMs = totalMs;
    this.#leftMs = totalMs;
    this.#onExpired = onExpired;
    this.#deadline = {ms: totalMs, code: 'TOTAL_TIMEOUT'};
  }

  /** What is left of the call's total, in milliseconds. */
  get leftMs(): number {
    return this.#leftMs;
  }

  /** A wait begins. */
  start(deadline: Deadline): void {
    const now = performance.now();
    this.#deadline = deadline.ms < this.#leftMs ? deadline : {ms: this.#totalMs, code: 'TOTAL_TIMEOUT'};
    const ms = Math.min(deadline.ms, this.#leftMs);
    this.#running = true;
    this.#wait += 1;
    this.#startedAt = now;
    this.#limitAt = ms > LONGEST_MS ? Infinity : now + ms;
    if (this.#limitAt < this.#timerDueAt) this.#arm(this.#limitAt, now);
  }

  /** The wait is over. */
  stop(): void {
    if (!this.#running) return;
    this.#running = false;
    this.#leftMs = Math.max(0, this.#leftMs - (performance.now() - this.#startedAt));
  }

  /** Takes time spent elsewhere, such as a back-off, from the call's total. */
  spend(ms: number): void {
    this.#leftMs = Math.max(0, this.#leftMs - ms);
  }

  /** Leaves no timer behind. */
  close(): void {
    this.#running = false;
    clearTimeout(this.#timer);
    this.#timerDueAt = Infinity;
  }

  #arm(dueAt: number, now: number): void {
    clearTimeout(this.#timer);
    this.#timerDueAt = dueAt;
    this.#timer = setTimeout(this.#onTimer, Math.ceil(dueAt - now));
    // What holds the process while a read is pending is its socket; while the reader is idle nothing of ours may.
    (this.#timer as {unref?: () => void}).unref?.();
  }

  readonly #onTimer = (): void => {
    this.#timerDueAt = Infinity;
    if (!this.#running || this.#limitAt === Infinity) return;
    const now = performance.now();
    if (now < this.#limitAt) return this.#arm(this.#limitAt, now);
    if (this.#overdueWait !== this.#wait) {
      // Timers run before sockets are read. If the event loop was blocked, the answer may lie there: look once more after they were.
      this.#overdueWait = this.#wait;
      return this.#arm(now, now);
    }
    this.stop();
    this.#onExpired(expired(this.#deadline));
  };
}

function expired({ms, code}: Deadline): ModelError {
  const what = {
    FIRST_CHUNK_TIMEOUT: 'The model sent nothing',
    IDLE_TIMEOUT: 'The model sent no further chunk',
    TOTAL_TIMEOUT: 'The model did not finish its answer',
  };
  return new ModelError(`${what[code]} within ${ms} ms`, {code, retryable: true});
}
