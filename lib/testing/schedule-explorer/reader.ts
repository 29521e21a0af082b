import type {Event} from '../../events/event.ts';
import type {Run} from '../../runner/run.ts';
import type {Watch} from './watch.ts';
import type {Instant} from './watched-call.ts';

/** What `next()` came to at the end: done, or a rejection. */
export type ReaderEnd = {readonly done: true; readonly at: Instant} | {readonly error: unknown; readonly at: Instant};

export interface ReaderOptions {
  readonly run: Run;
  readonly watch: Watch;
  readonly pauseAfter: number;
  readonly pulls: number;
}

/** More than any scenario has; a run that never ends would keep the event loop from ever turning again. */
const MOST_EVENTS = 10_000;

/** Reads a run to its end, as a program would; it can be told to wait, and to leave. */
export class Reader {
  readonly events: {readonly event: Event; readonly at: Instant}[] = [];
  /** Every end that a `next()` gave, in their order. */
  readonly ends: ReaderEnd[] = [];
  /** When it first asked. */
  asked: Instant | undefined;
  /** `next()` calls under way. */
  pulling = 0;
  /** It waits, and asks for nothing. */
  paused = false;
  /** While it waited, if it did. */
  pause: {readonly from: Instant; to?: Instant} | undefined;
  /** It leaves its loop at the next Event. */
  leaving = false;
  /** When it left, if it did. */
  left: Instant | undefined;
  /** Whether `return()` has come back after it left. */
  leftFor: Instant | undefined;
  /** It has given up: there was no end to the Events. */
  gaveUp = false;
  readonly #options: ReaderOptions;
  #resume: (() => void) | undefined;
  #resumed = false;
  #leave: Promise<unknown> | undefined;

  constructor(options: ReaderOptions) {
    this.#options = options;
  }

  /** The first end; what counts for the program. */
  get end(): ReaderEnd | undefined {
    return this.ends[0];
  }

  /** Whether nothing more comes: it has an end, or has left. */
  get over(): boolean {
    return this.pulling === 0 && (this.ends.length > 0 || this.leftFor !== undefined);
  }

  /** Asks on, whatever `pauseAfter` says. */
  resume(): void {
    this.#resumed = true;
    this.#resume?.();
  }

  async read(): Promise<void> {
    while (this.ends.length === 0) {
      if (!this.#resumed && this.events.length >= this.#options.pauseAfter) await this.#pause();
      await this.#pull();
      this.gaveUp = this.events.length >= MOST_EVENTS;
      if (this.gaveUp) return;
      if (!this.#leave) continue;
      await this.#leave;
      this.leftFor = this.#options.watch.instant();
      return;
    }
  }

  #pause(): Promise<void> {
    this.paused = true;
    const pause: {readonly from: Instant; to?: Instant} = {from: this.#options.watch.instant()};
    this.pause = pause;
    return new Promise((resolve) => {
      this.#resume = () => {
        this.paused = false;
        pause.to ??= this.#options.watch.instant();
        resolve();
      };
    });
  }

  async #pull(): Promise<void> {
    const {run, watch, pulls} = this.#options;
    this.asked ??= watch.instant();
    if (pulls === 1) {
      this.pulling = 1;
      // Nothing stands between the call and the reader's own reaction: the moment after the last Event is one of those to look at.
      try {
        this.#take(await run.next());
      } catch (error) {
        this.#fail(error);
      }
      return;
    }
    this.pulling = pulls;
    const pending = Array.from({length: pulls}, () =>
      run.next().then(
        (result) => this.#take(result),
        (error: unknown) => this.#fail(error),
      ),
    );
    await Promise.all(pending);
  }

  #take(result: IteratorResult<Event, void>): void {
    this.pulling--;
    const at = this.#options.watch.instant();
    if (result.done) this.ends.push({done: true, at});
    else {
      this.events.push({event: result.value, at});
      this.#options.watch.landmark(`event ${this.events.length}`);
      if (this.leaving && !this.left) {
        this.left = at;
        // As `break` does, in the same breath.
        this.#leave = this.#options.run.return();
      }
    }
  }

  #fail(error: unknown): void {
    this.pulling--;
    this.ends.push({error, at: this.#options.watch.instant()});
  }
}
