import {StreamingMode, ToolExecutionMode} from '../../agents/run-config.ts';
import type {Observed} from './observed.ts';
import type {Moment, Schedule, StopKind} from './schedule.ts';

/** How tools are run and replies are shown. */
export type RunMode = Pick<Schedule, 'toolExecutionMode' | 'streamingMode'>;

export const MODES: readonly RunMode[] = [ToolExecutionMode.PARALLEL, ToolExecutionMode.SEQUENTIAL].flatMap((toolExecutionMode) =>
  [StreamingMode.NONE, StreamingMode.SSE].map((streamingMode) => ({toolExecutionMode, streamingMode})),
);

/** Where a run can be stopped in one mode, found by playing it without a stop. */
export interface Places {
  readonly mode: RunMode;
  /** While its reader always asks on. */
  readonly busy: readonly Moment[];
  /** While it is idle, by the number of Events that it has got. */
  readonly idle: readonly {readonly pauseAfter: number; readonly moment: Moment}[];
  /** Deadlines that fall before, on and after each timer. */
  readonly deadlinesMs: readonly number[];
  /** Events that its reader gets. */
  readonly events: number;
}

/** What a run shows of itself that nobody stops; the idle ones in the order of their pauses. */
export function placesOf(mode: RunMode, busy: Observed, idle: readonly Observed[]): Places {
  return {
    mode,
    busy: busyMoments(busy),
    idle: idle.flatMap(({jobsAfter}, at) =>
      momentsAfter(`event ${at + 1}`, jobsAfter.get(`event ${at + 1}`) ?? 0).map((moment) => ({pauseAfter: at + 1, moment})),
    ),
    deadlinesMs: [...new Set(busy.dueMs.flatMap((ms) => [ms - 1, ms, ms + 1]))].filter((ms) => ms >= 1),
    events: busy.reader.events.length,
  };
}

/** Every schedule with one stop, the earlier moments first. */
export function candidates({mode, busy, idle, deadlinesMs, events}: Places, kinds: readonly StopKind[]): Schedule[] {
  const acting = kinds.filter((kind) => kind !== 'break');
  const schedules: Schedule[] = [];
  for (const moment of busy) for (const kind of acting) schedules.push({...mode, stops: [{kind, ...moment}]});
  for (const {pauseAfter, moment} of idle) for (const kind of acting) schedules.push({...mode, stops: [{kind, ...moment}], pauseAfter});
  if (kinds.includes('break')) {
    for (let event = 1; event <= events; event++) schedules.push({...mode, stops: [{kind: 'break', after: `event ${event}`, jobs: 0}]});
  }
  for (const deadlineMs of deadlinesMs) schedules.push({...mode, stops: [], deadlineMs});
  for (let pauseAfter = 1; pauseAfter <= events; pauseAfter++) schedules.push({...mode, stops: [], deadlineMs: 1_000, pauseAfter});
  return schedules;
}

/** Between any two jobs of every turn, and inside of every call. */
function busyMoments({jobsAfter}: Observed): Moment[] {
  const moments: Moment[] = [];
  for (const [landmark, jobs] of jobsAfter) {
    if (landmark === 'start' || landmark.startsWith('timer ')) moments.push(...momentsAfter(landmark, jobs));
    else moments.push({after: landmark, jobs: 0});
  }
  return moments;
}

function momentsAfter(after: string, jobs: number): Moment[] {
  return Array.from({length: jobs + 1}, (_, job) => ({after, jobs: job}));
}
