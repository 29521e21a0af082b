import {isDeepStrictEqual} from 'node:util';
import {directStop, expectedEnds, isDone, isUnobservable, naturalEnd, type NaturalEnd} from './expected-ends.ts';
import type {FiredStop} from './fire.ts';
import type {Observed} from './observed.ts';
import type {ReaderEnd} from './reader.ts';
import {demand} from './schedule-error.ts';
import {storeFailed} from './store-failed.ts';
import {tell} from './tell.ts';

/** The iterator ends as the first stop that took effect says, `settled` says the same, and nothing comes afterwards. */
export function checkEnd(observed: Observed, natural: NaturalEnd | undefined): void {
  const {reader, outcome, again} = observed;
  const [first, ...others] = ends(observed);
  if (!first) return;
  const expected = expectedEnds(observed, natural ?? naturalEnd(observed));
  const fit = expected.filter(({matches}) => matches(first));
  demand(fit.length > 0, 'end', () => `expected ${expected.map(({told}) => told).join(', or ')}; the reader saw ${tellEnd(first)}`);
  demand(others.every(isDone), 'end', () => `only one \`next()\` may reject; the others saw ${others.map(tellEnd).join(', ')}`);
  demand(
    fit.some(({kinds}) => kinds.includes(outcome.kind)),
    'settled',
    () => {
      const kinds = fit.flatMap((end) => end.kinds).join("' or '");
      return `expected kind '${kinds}' after ${tellEnd(first)}; got '${outcome.kind}'`;
    },
  );
  if (!isDone(first))
    demand(
      Object.is(outcome.reason, first.error),
      'settled',
      () => `the reader saw ${tellEnd(first)}; the reason is ${tell(outcome.reason)}`,
    );
  for (const result of again) demand(result.done === true, 'late', () => `\`next()\` after the end gave ${tell(result.value)}`);

  const stop = directStop(observed);
  if (!stop) return;
  const late = reader.events.find(({at}) => at.order > stop.at.order && !isUnobservable(stop, at.turn, at.job));
  demand(!late, 'late', () => `the reader got an Event ${tell(late?.event.content)} after ${stop.stop.kind}`);
  demand(observed.settledAlone || stop.phase !== 'running', 'settled', () => 'the run settled only when its idle reader asked again');
  checkResults(observed);
}

/** What `return()`, `throw()`, `cancel()` ... came to. */
function checkResults(observed: Observed): void {
  const {stops} = observed;
  for (const {stop, phase, result, reason, answers} of stops) {
    if (!answers || !result) continue;
    const fits = stop.kind === 'throw' ? 'error' in result && Object.is(result.error, reason) : !('error' in result);
    demand(fits, 'end', () => `\`${stop.kind}\` came to ${'error' in result ? `a throw of ${tell(result.error)}` : tell(result.value)}`);
    if (stop.kind === 'return') {
      demand(isDeepStrictEqual(result.value, {done: true, value: undefined}), 'end', () => `\`return()\` gave ${tell(result.value)}`);
    }
    if (stop.kind.startsWith('cancel')) checkCount(observed, result.value, phase);
    demand(
      result.open === undefined || storeFailed(observed),
      'kept',
      () => `\`${stop.kind}\` came back before the session was closed: ${result.open}`,
    );
  }
}

/** `cancel()` tells how many runs it has stopped. */
function checkCount({companions, outcome, run, stops}: Observed, count: unknown, phase: FiredStop['phase']): void {
  const most = phase === 'created' ? companions.length : companions.length + 1;
  const least = phase === 'running' && stops.length === 1 && outcome.kind === 'abort' ? 1 : 0;
  demand(
    typeof count === 'number' && count >= least && count <= most,
    'end',
    () => `\`cancel()\` of ${run.invocationId} counted ${tell(count)} runs`,
  );
}

function ends({reader}: Observed): ReaderEnd[] {
  return reader.left ? [{done: true, at: reader.left}, ...reader.ends] : reader.ends;
}

function tellEnd(end: ReaderEnd): string {
  return isDone(end) ? 'done' : `a throw of ${tell(end.error)}`;
}
