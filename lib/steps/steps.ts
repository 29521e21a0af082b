import type {Gate} from '../async/gate.ts';

/**
 * The one seam through which a run touches the world. Between steps the loop is a pure function of what they returned, so an engine that
 * records results can end a run anywhere, start it again, and arrive at the same place.
 *
 * A step's result must be plain JSON, and its name the same at every replay.
 */
export interface Steps {
  /** One unit of work. */
  step<T>(name: string, run: () => T | PromiseLike<T>): Promise<T>;

  /** A unit of work that also yields: what it yields is live and unrecorded, what it returns is the result. */
  stream<P, T>(name: string, run: () => AsyncGenerator<P, T, undefined>): AsyncGenerator<P, T, undefined>;

  /**
   * The only fan-out: runs the thunks behind the gate and collects their results in order. A thunk never rejects; `dropped` is the result
   * of one that the gate dropped before it started.
   */
  all<T>(thunks: readonly (() => Promise<T>)[], gate: Gate, dropped: (index: number) => T): Promise<T[]>;

  /** A branch of more than one step, with a seam of its own. */
  child<T>(name: string, run: (steps: Steps) => Promise<T>): Promise<T>;

  /** Milliseconds since 1970. */
  now(): number | Promise<number>;

  /** A new UUID. */
  uuid(): string | Promise<string>;
}

/** Runs a loop over its steps: once in process; as often as needed on an engine that replays. */
export interface StepEngine {
  drive<E>(loop: (steps: Steps) => AsyncGenerator<E, void, undefined>): AsyncGenerator<E, void, undefined>;
}
