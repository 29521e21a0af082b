import type {Event} from '../../events/event.ts';
import type {Run} from '../../runner/run.ts';
import type {RunOutcome} from '../../runner/run-outcome.ts';
import type {Collected} from '../collect.ts';
import type {FiredStop} from './fire.ts';
import type {Aftermath} from './look-around.ts';
import type {Reader} from './reader.ts';
import type {Scenario} from './scenario.ts';
import type {Schedule} from './schedule.ts';
import type {Watch} from './watch.ts';
import type {Instant} from './watched-call.ts';

/** Everything that was seen of one schedule. */
export interface Observed extends Aftermath {
  readonly schedule: Schedule;
  readonly scenario: Scenario;
  readonly limits: Limits;
  readonly watch: Watch;
  readonly reader: Reader;
  readonly run: Run;
  readonly stops: readonly FiredStop[];
  readonly outcome: RunOutcome;
  readonly settled: Instant;
  /** Whether the run settled before its idle reader asked again. */
  readonly settledAlone: boolean;
  readonly companions: readonly Collected<Event, RunOutcome>[];
  /** What the run left, right after its end. */
  readonly left: {readonly timers: number; readonly listeners: number};
  /** The most of the run's timers that kept the process while its reader was idle, and that did not while it waited. */
  readonly held: {readonly idle: number; readonly waiting: number};
  readonly rejections: readonly unknown[];
  /** Jobs from each landmark to the end of its turn. */
  readonly jobsAfter: ReadonlyMap<string, number>;
  /** When timers were due, in milliseconds after the start. */
  readonly dueMs: readonly number[];
}

export interface Limits {
  readonly abortGraceMs: number;
  readonly closeTimeoutMs: number;
  readonly timeoutMs: number;
}
