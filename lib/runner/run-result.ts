import type {UsageMetadata} from '../content.ts';
import {SluiceError} from '../errors.ts';
import type {Event} from '../events/event.ts';

/** A value as JSON keeps it: a Date is its ISO string. */
export type Json<T> = T extends Date ? string : T extends object ? {[K in keyof T]: Json<T[K]>} : T;

/** What a run came to. */
export interface RunResult<T> {
  /** What the agent came to, in the form of its `outputSchema`; `undefined` without one. */
  readonly output: Json<T>;
  /** The text of the last Event that has one, without thoughts. */
  readonly text: string;
  /** The tokens of all model calls. */
  readonly usage: UsageMetadata | undefined;
  /** The whole Events of the run, in order. */
  readonly events: readonly Event[];
}

/**
 * The run has no result: it waits for an answer, its last reply cannot be used, or an agent with an `outputSchema` gave no output, because a
 * callback or another agent answered in its place. Its Events are stored all the same.
 */
export class RunIncompleteError extends SluiceError {
  /** `RUN_WAITING`, `NO_OUTPUT`, or the `errorCode` of the reply. */
  readonly code: string;
  readonly events: readonly Event[];

  constructor(code: string, message: string, events: readonly Event[]) {
    super(message);
    this.code = code;
    this.events = events;
  }
}
