import type {UsageMetadata} from '../content.ts';
import {SluiceError} from '../errors.ts';
import type {Event} from '../events/event.ts';

/** What a run came to. */
export interface RunResult<T> {
  /** What the agent came to, in the form of its `outputSchema`; `undefined` without one. */
  readonly output: T;
  /** The text of the last Event that has one, without thoughts. */
  readonly text: string;
  /** The tokens of all model calls. */
  readonly usage: UsageMetadata | undefined;
  /** The whole Events of the run, in order. */
  readonly events: readonly Event[];
}

/** The run has no result: it waits for an answer, or its last reply cannot be used. Its Events are stored all the same. */
export class RunIncompleteError extends SluiceError {
  /** `RUN_WAITING`, or the `errorCode` of the reply. */
  readonly code: string;
  readonly events: readonly Event[];

  constructor(code: string, message: string, events: readonly Event[]) {
    super(message);
    this.code = code;
    this.events = events;
  }
}
