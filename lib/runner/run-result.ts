import type {UsageMetadata} from '../content.ts';
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
