import {plainJson, replay, type Entry, type Outcome} from './replay-journal.ts';

export interface AttemptOptions {
  /** Whether to crash after a fresh record. */
  readonly crash: () => boolean;
  /** Told each fresh record's name. */
  readonly recorded: (name: string) => void;
}

/**
 * One go at a loop, up to its crash. A crashed attempt is never told so: what it waits for just never comes, as for a process that is gone.
 */
export class ReplayAttempt {
  readonly #options: AttemptOptions;
  #mortal = true;
  #crashed = false;
  #failure: {readonly error: unknown} | undefined;
  #working = 0;
  #waves = 0;
  #held = false;
  #onEnd: (() => void) | undefined;

  constructor(options: AttemptOptions) {
    this.#options = options;
  }

  /** Nothing that it does counts any more. */
  get over(): boolean {
    return this.#crashed || this.#failure !== undefined;
  }

  /** Fresh work is under way: what the loop yields meanwhile is live, and no replay yields it again. */
  get working(): boolean {
    return this.#working > 0;
  }

  /** Lets it live to its end: its reader has left, and a crash would only keep it from cleaning up. */
  spare(): void {
    this.#mortal = false;
  }

  /** Ends it with an error of the engine's own, past anything that the loop could catch. */
  fail(error: unknown): void {
    if (this.over) return;
    this.#failure = {error};
    this.#onEnd?.();
  }

  /** What `pull` gives, or `undefined` if the attempt crashes or fails meanwhile, or has done so. */
  next<T>(pull: () => Promise<T>): Promise<T | undefined> {
    return new Promise((resolve, reject) => {
      this.#onEnd = () => resolve(undefined);
      if (this.over) this.#onEnd();
      else pull().then(resolve, reject);
    });
  }

  throwIfFailed(): void {
    if (this.#failure) throw this.#failure.error;
  }

  /** Runs a step for the first time and records it; its result never comes if that is where the attempt crashes. */
  async run<T>(entry: Entry, body: () => T | PromiseLike<T>): Promise<T> {
    this.begin();
    let outcome: Outcome;
    try {
      const value: unknown = await body();
      outcome = this.json(value, `The result of \`${entry.name}\``);
    } catch (error) {
      outcome = {error};
    }
    return this.end(entry, outcome);
  }

  /** A value to record; the attempt fails if it is not plain. */
  json(value: unknown, what: string): Outcome {
    try {
      return {json: plainJson(value, what)};
    } catch (error) {
      this.fail(error);
      return {error};
    }
  }

  /** Fresh work begins. */
  begin(): void {
    this.#working++;
  }

  /** Fresh work was given up before it came to anything. */
  leave(): void {
    this.#working--;
  }

  /** Fresh work came to something. */
  async end<T>(entry: Entry, outcome: Outcome): Promise<T> {
    this.#working--;
    if (this.over) return never();
    entry.outcome = outcome;
    this.#options.recorded(entry.name);
    if (this.#waves > 0 || !this.#mayCrash()) return replay<T>(outcome);
    this.#held = true;
    // What else is under way comes to its end first: in one process nothing could end it, and it would go on beside the next attempt.
    if (this.#working === 0) this.#crash();
    return never();
  }

  /** A fresh fan-out begins: no crash before it ends. */
  beginWave(): void {
    this.begin();
    this.#waves++;
  }

  endWave(): void {
    this.#waves--;
  }

  #mayCrash(): boolean {
    return this.#held || (this.#mortal && this.#options.crash());
  }

  #crash(): void {
    this.#crashed = true;
    this.#onEnd?.();
  }
}

/** Never settles. */
export function never(): Promise<never> {
  return new Promise(() => {});
}
