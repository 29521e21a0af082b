import {isDeepStrictEqual} from 'node:util';
import {RunCancelledError, RunnerClosedError, RunTimeoutError, SluiceError} from '../../errors.ts';
import type {RunKind} from '../../runner/run-outcome.ts';
import type {FiredStop} from './fire.ts';
import type {Observed} from './observed.ts';
import type {ReaderEnd} from './reader.ts';
import {demand} from './schedule-error.ts';
import {storeFailed} from './store-failed.ts';

/** How a run ends that nobody stops. */
export interface NaturalEnd {
  readonly kind: RunKind;
  readonly error: unknown;
  /** How many Events its reader gets. */
  readonly events: number;
}

interface ExpectedEnd {
  readonly told: string;
  readonly kinds: readonly RunKind[];
  readonly matches: (end: ReaderEnd) => boolean;
}

/**
 * A promise that has resolved reaches the one who awaits it a job later, and a `for await` some more; nobody can tell a stop in between from
 * one that came after.
 */
const UNOBSERVABLE_JOBS = 3;

/** The iterator ends as the first stop that took effect says, `settled` says the same, and nothing comes afterwards. */
export function checkEnd(observed: Observed, natural: NaturalEnd | undefined): void {
  const {reader, outcome, again} = observed;
  const [first, ...others] = ends(observed);
  if (!first) return;
  const expected = expectedEnds(observed, natural ?? naturalEnd(observed));
  const fit = expected.filter(({matches}) => matches(first));
  demand(fit.length > 0, 'end', () => `expected ${expected.map(({told}) => told).join(', or ')}; the reader saw ${tellEnd(first)}`);
  demand(others.every(isDone), 'end', () => `only one \`next()\` may reject; the others saw ${others.map(tellEnd).join(', ')}`);
  demand(fit.some(({kinds}) => kinds.includes(outcome.kind)), 'settled', () => {
    const kinds = fit.flatMap((end) => end.kinds).join("' or '");
    return `expected kind '${kinds}' after ${tellEnd(first)}; got '${outcome.kind}'`;
  });
  if (!isDone(first)) demand(Object.is(outcome.reason, first.error), 'settled', () => `the reader saw ${tellEnd(first)}; the reason is ${tell(outcome.reason)}`);
  for (const result of again) demand(result.done === true, 'late', () => `\`next()\` after the end gave ${tell(result.value)}`);

  const stop = directStop(observed);
  if (!stop) return;
  const late = reader.events.find(({at}) => at.order > stop.at.order && !isUnobservable(stop, at.turn, at.job));
  demand(!late, 'late', () => `the reader got an Event ${tell(late?.event.content)} after ${stop.stop.kind}`);
  demand(observed.settledAlone || stop.phase !== 'running', 'settled', () => 'the run settled only when its idle reader asked again');
  checkAnswers(observed);
}

/** What `return()`, `throw()`, `cancel()` ... came to. */
function checkAnswers(observed: Observed): void {
  const {stops} = observed;
  for (const {stop, phase, result, reason, answers} of stops) {
    if (!answers || !result) continue;
    const fits = stop.kind === 'throw' ? 'error' in result && Object.is(result.error, reason) : !('error' in result);
    demand(fits, 'end', () => `\`${stop.kind}\` came to ${'error' in result ? `a throw of ${tell(result.error)}` : tell(result.value)}`);
    if (stop.kind === 'return') {
      demand(isDeepStrictEqual(result.value, {done: true, value: undefined}), 'end', () => `\`return()\` gave ${tell(result.value)}`);
    }
    if (stop.kind.startsWith('cancel')) checkCancelled(observed, result.value, phase);
    demand(result.open === undefined || storeFailed(observed), 'kept', () => `\`${stop.kind}\` came back before the session was closed: ${result.open}`);
  }
}

/** `cancel()` tells how many runs it has stopped. */
function checkCancelled({companions, outcome, run, stops}: Observed, count: unknown, phase: FiredStop['phase']): void {
  const most = phase === 'created' ? companions.length : companions.length + 1;
  const least = phase === 'running' && stops.length === 1 && outcome.kind === 'abort' ? 1 : 0;
  demand(typeof count === 'number' && count >= least && count <= most, 'end', () => `\`cancel()\` of ${run.invocationId} counted ${tell(count)} runs`);
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

function ends({reader}: Observed): ReaderEnd[] {
  return reader.left ? [{done: true, at: reader.left}, ...reader.ends] : reader.ends;
}

function expectedEnds(observed: Observed, natural: NaturalEnd): ExpectedEnd[] {
  const {stops, schedule} = observed;
  const stop = directStop(observed);
  const before = stops.slice(0, stop ? stops.indexOf(stop) + 1 : stops.length).filter((fired) => fired.phase !== 'over' && hasEffect(fired));
  const decided = (stop?.phase === 'created' ? [stop] : before).map(expectedEnd);
  const expected = [...decided];
  // Whoever calls one of these before `next()` tells has taken the end from there, and sees a plain done.
  if (observed.reader.left || stops.some(({phase, stop: {kind}}) => phase !== 'over' && (kind === 'return' || kind === 'dispose' || kind === 'throw'))) {
    expected.push(...decided.map((end) => ({...end, told: 'done', matches: isDone})));
  }
  if (schedule.deadlineMs !== undefined) {
    expected.push({told: 'a RunTimeoutError', kinds: ['timeout'], matches: (end) => 'error' in end && end.error instanceof RunTimeoutError});
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
      // `throw()` itself rejects with it; the `next()` that is pending may, or is done.
      return {told: 'the value thrown, or done', kinds: ['abort'], matches: (end) => isDone(end) || Object.is(end.error, reason)};
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
  if (natural.kind === 'limit') return true;
  if (natural.kind === 'timeout') return stop.at.ms - (asked?.ms ?? 0) >= limits.timeoutMs;
  if (natural.kind !== 'error') return false;
  if (end && end.at.turn === stop.at.turn && stop.inFlight.length === 0) return true;
  return watch.calls.some(
    ({caller, kind, outcome, ended}) => caller === 'run' && kind !== 'tool' && ended && ended.order < stop.at.order && outcome && 'error' in outcome,
  );
}

/** Whether a moment is one of the stop's own, for all that anybody can tell. */
function isUnobservable({at}: FiredStop, turn: number, job: number): boolean {
  return at.turn === turn && job - at.job <= UNOBSERVABLE_JOBS;
}

function isDone(end: ReaderEnd): end is Extract<ReaderEnd, {done: true}> {
  return 'done' in end;
}

function alike(error: unknown, natural: unknown): boolean {
  if (error instanceof SluiceError && natural instanceof SluiceError) return error.code === natural.code;
  return Object.is(error, natural) || (error instanceof Error && natural instanceof Error && error.message === natural.message);
}

function tellEnd(end: ReaderEnd): string {
  return isDone(end) ? 'done' : `a throw of ${tell(end.error)}`;
}

/** A value in a message. */
export function tell(value: unknown): string {
  if (value instanceof Error) return `${value.name}(${JSON.stringify(value.message)})`;
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}
