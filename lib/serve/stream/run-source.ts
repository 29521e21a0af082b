import type {Event} from '../../events/event.ts';
import type {Run} from '../../runner/run.ts';
import type {RunOutcome} from '../../runner/run-outcome.ts';
import {clientError, failureOf, reportFailure, type ClientError} from './client-error.ts';

/** An Event on its way to a client. */
export interface StreamedEvent {
  readonly event: Event;
  /** Tells it from any other message of any run: see {@link RunReader}. */
  readonly id: string;
  readonly json: string;
  /** Its place in the run, from 1. */
  readonly sequence: number;
}

/** How a stream ends. */
export interface StreamEnd {
  /** Missing where only this stream ends, and not the run. */
  readonly outcome?: RunOutcome;
  /** What the client is told; missing where the run finished. */
  readonly failure?: ClientError;
}

/** What a response is made of. */
export interface RunSource {
  /** The next Event or the end. Called again only once it has settled, and never after the end. Never rejects. */
  next(): Promise<StreamedEvent | StreamEnd>;
  /** The client has left; resolves once a run that ends with that has ended. Never rejects. */
  leave(): Promise<void>;
}

export interface RunReaderOptions {
  /** What a client that leaves means for the run. */
  readonly onDisconnect: 'abort' | 'continue';
  readonly onError: ((error: unknown) => void) | undefined;
}

/**
 * A run as it comes, at its reader's demand.
 *
 * A whole Event's message has the Event's id. A partial Event shares its id with the whole one, so its message has a suffix: its place in
 * the run, and a piece of the run's id, since what a client brings back may be of an earlier run. Both are written as a URI component is:
 * an id may hold anything, also a line break.
 */
export class RunReader implements RunSource {
  readonly #run: Run;
  readonly #options: RunReaderOptions;
  readonly #tag: string;
  #sequence = 0;
  #reported = false;
  #first: Promise<StreamedEvent | StreamEnd> | undefined;

  constructor(run: Run, options: RunReaderOptions) {
    this.#run = run;
    this.#options = options;
    this.#tag = runTag(run.invocationId);
  }

  next(): Promise<StreamedEvent | StreamEnd> {
    const first = this.#first;
    this.#first = undefined;
    return first ?? this.#read();
  }

  /** Starts the run: what comes first is kept for `next`. */
  start(): Promise<StreamedEvent | StreamEnd> {
    return (this.#first ??= this.#read());
  }

  async leave(): Promise<void> {
    if (this.#options.onDisconnect === 'abort') await this.#run.return();
    else void this.#drain();
  }

  async #drain(): Promise<void> {
    let step = await this.next();
    while (isEvent(step)) step = await this.#read();
  }

  async #read(): Promise<StreamedEvent | StreamEnd> {
    try {
      const {done, value} = await this.#run.next();
      if (!done) return await this.#streamed(value);
    } catch {
      // The outcome tells it too, and also where somebody else was told before.
    }
    const outcome = await this.#run.settled;
    if (outcome.kind !== 'abort' && 'reason' in outcome) this.#report(outcome.reason);
    const failure = failureOf(outcome);
    return {outcome, ...(failure && {failure})};
  }

  async #streamed(event: Event): Promise<StreamedEvent | StreamEnd> {
    const sequence = ++this.#sequence;
    const own = encodeURIComponent(event.id.toWellFormed());
    const id = event.partial ? `${own}:${sequence}-${this.#tag}` : own;
    try {
      return {event, id, json: JSON.stringify(event), sequence};
    } catch (error) {
      // An agent of the user's yielded what no JSON can hold.
      this.#report(error);
      await this.#run.return();
      return {outcome: await this.#run.settled, failure: clientError(error)};
    }
  }

  /** Once: who drains a run comes upon its end a second time. */
  #report(error: unknown): void {
    if (!this.#reported) reportFailure(error, this.#options.onError);
    this.#reported = true;
  }
}

export function isEvent(step: StreamedEvent | StreamEnd): step is StreamedEvent {
  return 'event' in step;
}

/** What the ids of a run's partial Events end with. */
export function runTag(invocationId: string): string {
  return invocationId.slice(-8);
}
