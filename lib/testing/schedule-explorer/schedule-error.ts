import {SluiceError} from '../../errors.ts';
import {tellSchedule, type Schedule} from './schedule.ts';

/** The lines of the contract, each a part of DESIGN's chapter on it. */
export type ContractClause =
  /** How the reader's iterator ends, and with what. */
  | 'end'
  /** What `settled` says. */
  | 'settled'
  /** How long a stop takes. */
  | 'prompt'
  /** Nothing starts after a stop, and everything under way is told. */
  | 'stop'
  /** What the session holds is valid. */
  | 'session'
  /** What was done is kept. */
  | 'kept'
  /** What never happened is not told. */
  | 'invented'
  /** A body runs once, and only with the word of the user where it needs that. */
  | 'granted'
  /** Events are stored, then yielded, in one order. */
  | 'order'
  /** Nothing runs ahead of its reader. */
  | 'ahead'
  /** No timer, listener or rejection is left. */
  | 'left'
  /** Timers hold the process exactly while somebody waits. */
  | 'hold'
  /** Nothing comes after the end. */
  | 'late'
  /** The session is free, and its next request valid. */
  | 'next run'
  /** Work is done in the async context of the `runAsync()` call. */
  | 'context'
  /** Other runs on the session are not touched. */
  | 'others'
  /** It comes to an end at all. */
  | 'hangs';

/** A schedule under which a run broke its contract. */
export class ScheduleError extends SluiceError {
  readonly code = 'SCHEDULE_VIOLATION';
  /** Plays it again: `await explorer.replay(error.schedule)`. */
  readonly schedule: Schedule;
  /** The line of the contract that was broken. */
  readonly clause: ContractClause;
  /** The landmarks up to there, the last ones of many. */
  readonly landmarks: readonly string[];

  constructor(schedule: Schedule, {clause, detail}: Violation, landmarks: readonly string[], options?: ErrorOptions) {
    const replay = `explorer.replay(${JSON.stringify(schedule)})`;
    super(
      `Contract broken (${clause}): ${detail}\n  stopped by: ${tellSchedule(schedule)}\n  replay: ${replay}\n  seen: ${landmarks.slice(-30).join(' > ')}`,
      options,
    );
    this.schedule = schedule;
    this.clause = clause;
    this.landmarks = landmarks;
  }
}

/** A broken line of the contract, before it is known under which schedule. */
export class Violation extends Error {
  readonly clause: ContractClause;
  readonly detail: string;

  constructor(clause: ContractClause, detail: string) {
    super(`${clause}: ${detail}`);
    this.clause = clause;
    this.detail = detail;
  }
}

export function violation(clause: ContractClause, detail: string): never {
  throw new Violation(clause, detail);
}

/** Throws a violation unless it holds. */
export function demand(holds: boolean, clause: ContractClause, detail: () => string): void {
  if (!holds) violation(clause, detail());
}
