import type {StreamingMode, ToolExecutionMode} from '../../agents/run-config.ts';

/**
 * The ways to stop a run:
 * - `abort`, `abort string`, `abort undefined`: the caller's signal fires, with an Error, a string, or no reason;
 * - `return`, `dispose`, `throw`: the iterator's own methods, also while a `next()` is pending;
 * - `break`: the reader leaves its loop, at the Event that it gets there or at its next one;
 * - `cancel session`, `cancel run`: `runner.cancel(...)`; `close`: `runner.close({timeoutMs: 0})`.
 */
export const STOP_KINDS = [
  'abort',
  'return',
  'break',
  'cancel session',
  'throw',
  'dispose',
  'abort string',
  'abort undefined',
  'cancel run',
  'close',
] as const;

/** One of the ways to stop a run. */
export type StopKind = (typeof STOP_KINDS)[number];

/**
 * A moment in a run: so many promise jobs after a landmark, 0 for the landmark itself. Where the work between two timers is over sooner, the
 * moment is when it is over.
 *
 * Landmarks: `created` (before the first `next()`), `start` (after that call), `timer 3` (the third timer has fired), `event 2` (the reader
 * has got it), and one for each call of the user's code, such as `tool get_weather #1 starts`, `store appendEvent #2 ends`, `model m #1 yields`.
 */
export interface Moment {
  readonly after: string;
  readonly jobs: number;
}

/** One stop of a run. */
export interface ScheduledStop extends Moment {
  readonly kind: StopKind;
}

/** Everything that decides how a run goes, in plain JSON. */
export interface Schedule {
  readonly toolExecutionMode: ToolExecutionMode;
  readonly streamingMode: StreamingMode;
  /** In the order in which they are tried; none for a run that is left alone. */
  readonly stops: readonly ScheduledStop[];
  /** The reader asks no more after so many Events, until the run has been stopped. Default: it always asks on. */
  readonly pauseAfter?: number;
  /** How many `next()` calls the reader has under way. Default 1. */
  readonly pulls?: number;
  /** The run's own deadline, `runConfig.timeoutMs`. Default: the scenario's. */
  readonly deadlineMs?: number;
}

/** The schedule as a sentence. */
export function tellSchedule({stops, pauseAfter, pulls = 1, deadlineMs, toolExecutionMode, streamingMode}: Schedule): string {
  const told = stops.map(({kind, after, jobs}) => `${kind} at \`${after}\`${jobs > 0 ? ` + ${jobs} jobs` : ''}`);
  if (deadlineMs !== undefined) told.push(`deadline after ${deadlineMs} ms`);
  if (told.length === 0) told.push('no stop');
  const reader = [
    ...(pauseAfter === undefined ? [] : [`paused after ${pauseAfter} events`]),
    ...(pulls === 1 ? [] : [`${pulls} pulls at a time`]),
  ];
  const reading = reader.length === 0 ? '' : `, reader ${reader.join(', ')}`;
  return `${told.join(', then ')}${reading} (tools ${toolExecutionMode}, streaming ${streamingMode})`;
}

/** What a schedule counts as in a report: its kinds of stop. */
export function kindOf({stops, deadlineMs}: Schedule): string {
  const kinds = [...stops.map(({kind}) => kind), ...(deadlineMs === undefined ? [] : ['deadline'])];
  return kinds.join(' + ') || 'none';
}
