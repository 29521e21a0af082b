import {RunCancelledError, RunnerClosedError, RunTimeoutError, SluiceError} from '../../errors.ts';
import type {RunKind} from '../../runner/run-outcome.ts';
import type {FiredStop} from './fire.ts';
import type {Observed} from './observed.ts';
import type {ReaderEnd} from './reader.ts';
import {tell} from './tell.ts';

/** How a run ends that nobody stops. */
export interface NaturalEnd {
  readonly kind: RunKind;
  readonly error: unknown;
  /** How many Events its reader gets. */
  readonly events: number;
}

/** An end that the contract allows. */
export interface ExpectedEnd {
  readonly told: string;
  readonly kinds: readonly RunKind[];
  readonly matches: (end: ReaderEnd) => boolean;
}

/**
 * A promise that has resolved reaches the one who awaits it a job later, and a `for await` some more; nobody can tell a stop in between from
 * one that came after.
 */
const UNOBSERVABLE_JOBS = 3;

/** All the ends that the contract leaves open after these stops. */
export function expectedEnds(observed: Observed, natural: NaturalEnd): ExpectedEnd[] {
  const {stops, schedule} = observed;
  const stop = directStop(observed);
  const before = stops
    .slice(0, stop ? stops.indexOf(stop) + 1 : stops.length)
    .filter((fired) => fired.phase !== 'over' && hasEffect(fired));
  const decided = (stop?.phase === 'created' ? [stop] : before).map(expectedEnd);
  const expected = [...decided];
  // Whoever calls one of these before `next()` tells has taken the end from there, and sees a plain done.
  const {left, pause, events} = observed.reader;
  const leaves = stops.some(({phase, stop: {kind}}) => phase !== 'over' && (kind === 'return' || kind === 'dispose' || kind === 'throw'));
  // The `next()` that was pending may just have been answered, and another one come behind.
  const wasAnswered = stop !== undefined && (stop.pulling === 0 || events.some(({at}) => at.order > stop.at.order));
  if (left || (leaves && (pause || wasAnswered))) {
    expected.push(...decided.map((end) => ({...end, told: 'done', matches: isDone})));
  }
  if (schedule.deadlineMs !== undefined) {
    expected.push({
      told: 'a RunTimeoutError',
      kinds: ['timeout'],
      matches: (end) => 'error' in end && end.error instanceof RunTimeoutError,
    });
  }
  const isAhead = (observed.reader.asked?.ms ?? 0) === 0;
  if (
    observed.companions.length > 0 &&
    (!isAhead || stops.some(({phase, stop}) => phase === 'created' && stop.kind === 'cancel session'))
  ) {
    expected.push({told: 'whatever comes of it where the runs before are gone', kinds: [observed.outcome.kind], matches: () => true});
  }
  const refused = before.some(({phase, stop: {kind}}) => phase === 'created' && kind !== 'break');
  if (!refused && (!stop || mayEndByItself(observed, stop, natural))) {
    expected.push({
      told: natural.error === undefined ? `done, '${natural.kind}'` : `${tell(natural.error)}, '${natural.kind}'`,
      kinds: [natural.kind],
      matches: (end) => (isDone(end) ? natural.error === undefined : alike(end.error, natural.error)),
    });
  }
  return expected;
}

/** The stop that decides: the first that acts at once on a run that its reader has not seen the end of. */
export function directStop({stops}: Observed): FiredStop | undefined {
  return stops.find(({phase, stop: {kind}}) => {
    // Before the first `next()` a run does not listen to anybody: only its own methods act at once.
    if (phase === 'created') return kind === 'return' || kind === 'dispose' || kind === 'throw';
    return phase === 'running' && kind !== 'close' && kind !== 'break';
  });
}

/** How a run ended, as the reader saw it. */
export function naturalEnd({reader, outcome}: Observed): NaturalEnd {
  const {end} = reader;
  return {kind: outcome.kind, error: end && 'error' in end ? end.error : undefined, events: reader.events.length};
}

function expectedEnd({stop, phase, reason}: FiredStop): ExpectedEnd {
  const rejects = (told: string, matches: (error: unknown) => boolean): ExpectedEnd => ({
    told,
    kinds: phase === 'created' && stop.kind === 'close' ? ['abort', 'error'] : ['abort'],
    matches: (end) => 'error' in end && matches(end.error),
  });
  switch (stop.kind) {
    case 'return':
    case 'dispose':
    case 'break':
      return {told: 'done, as the reader left', kinds: ['return'], matches: isDone};
    case 'cancel session':
      return rejects('a RunCancelledError', (error) => error instanceof RunCancelledError);
    case 'close':
      return rejects('a RunnerClosedError', (error) => error instanceof RunnerClosedError);
    case 'throw':
      return rejects('the value thrown', (error) => Object.is(error, reason));
    default:
      return rejects(`the very reason given, ${tell(reason)}`, (error) => Object.is(error, reason));
  }
}

/** A run that is not started is not there to be cancelled. */
function hasEffect({stop, phase}: FiredStop): boolean {
  return phase !== 'created' || !stop.kind.startsWith('cancel');
}

/** Whether a stop may have come too late: the reader was just being told, or something had failed before. */
function mayEndByItself({reader, watch, limits}: Observed, stop: FiredStop, natural: NaturalEnd): boolean {
  const {end, asked} = reader;
  if (end && isUnobservable(stop, end.at.turn, end.at.job)) return true;
  // Its loop was through, and what was left to do was to say so.
  if (!stop.reason && stop.stop.kind !== 'cancel session' && natural.error === undefined) return reader.events.length === natural.events;
  if (natural.kind === 'limit') return reader.events.length === natural.events;
  if (natural.kind === 'timeout') return stop.at.ms - (asked?.ms ?? 0) >= limits.timeoutMs;
  if (natural.kind !== 'error') return false;
  if (end && end.at.turn === stop.at.turn && stop.inFlight.length === 0) return true;
  return watch.calls.some(
    ({caller, kind, outcome, ended}) =>
      caller === 'run' && kind !== 'tool' && ended && ended.order < stop.at.order && outcome && 'error' in outcome,
  );
}

/** Whether a moment is one of the stop's own, for all that anybody can tell. */
export function isUnobservable({at}: FiredStop, turn: number, job: number): boolean {
  return at.turn === turn && job - at.job <= UNOBSERVABLE_JOBS;
}

/** Whether it is no rejection. */
export function isDone(end: ReaderEnd): end is Extract<ReaderEnd, {done: true}> {
  return 'done' in end;
}

function alike(error: unknown, natural: unknown): boolean {
  if (error instanceof SluiceError && natural instanceof SluiceError) return error.code === natural.code;
  return Object.is(error, natural) || (error instanceof Error && natural instanceof Error && error.message === natural.message);
}
