import {ContextRevokedError} from '../../errors.ts';
import {tell} from './tell.ts';
import type {Observed} from './observed.ts';
import {requestFlaw} from './pairing.ts';
import {demand} from './schedule-error.ts';
import {storeFailed} from './store-failed.ts';

/** Nothing is left, nothing comes late, and the next run finds everything in order. */
export function checkAfter(observed: Observed): void {
  checkLeft(observed);
  checkLate(observed);
  checkNextRun(observed);
  checkOthers(observed);
}

function checkLeft({left, held, rejections}: Observed): void {
  demand(left.timers === 0, 'left', () => `${left.timers} timers of the run are pending after its end`);
  demand(left.listeners === 0, 'left', () => `${left.listeners} listeners are left on the caller's signal`);
  demand(rejections.length === 0, 'left', () => `nobody handled a rejection with ${tell(rejections[0])}`);
  demand(held.idle === 0, 'hold', () => `${held.idle} timers keep the process while the reader is idle`);
  demand(held.waiting === 0, 'hold', () => `${held.waiting} timers do not keep the process while a \`next()\` is pending`);
}

function checkLate(observed: Observed): void {
  const {watch, settled, run, events, probe, lateEvents} = observed;
  const late = watch.calls.find(
    ({kind, caller, event, started}) =>
      started.order > settled.order && (caller === 'run' || event?.invocationId === run.invocationId) && kind !== 'agent',
  );
  demand(!late, 'late', () => `${late?.kind} ${late?.name} was called after the run had settled`);
  checkRevoked(observed);
  if (storeFailed(observed)) return;
  const [before, after] = [events, lateEvents].map((list) => list.map(({id}) => id));
  const kept = after?.slice(0, before?.length).join() === before?.join();
  demand(kept, 'late', () => `the session changed after the run had settled`);
  const added = lateEvents.slice(events.length).find(({invocationId}) => invocationId !== probe.events[0]?.invocationId);
  demand(!added || probe.events.length === 0, 'late', () => `an Event was stored after the run had settled: ${tell(added?.content)}`);
}

/** What user code still holds of the run no longer answers. */
function checkRevoked({watch}: Observed): void {
  for (const {kind, name, context, caller} of watch.calls) {
    if (!context || caller !== 'run') continue;
    let isAlive = true;
    try {
      context.state.set('late', true);
    } catch (error) {
      isAlive = !(error instanceof ContextRevokedError);
    }
    demand(!isAlive, 'late', () => `the context of ${kind} ${name} can still write state after the run had settled`);
  }
}

/** The session is free at once, and the next request is valid, whatever the store lost. */
function checkNextRun(observed: Observed): void {
  const {probe, probed, watch} = observed;
  const {error, outcome, model} = probe;
  const code = (error as {code?: unknown} | undefined)?.code;
  demand(code !== 'SESSION_BUSY', 'next run', () => `the session is not free: ${tell(error)}`);
  const [request] = model.requests;
  const flaw = request && requestFlaw(request.contents);
  demand(!flaw, 'next run', () => `the next request is not valid: ${flaw}`);
  const stored = watch.calls.filter(({kind, caller}) => kind === 'store' && caller === 'probe');
  if (storeFailed(observed) || stored.some((call) => !call.outcome || 'error' in call.outcome)) return;
  demand(outcome.kind === 'done', 'next run', () => `a next run ended with ${outcome.kind}, ${tell(error)}`);
  const stores = stored.reduce((sum, {started, ended}) => sum + (ended?.ms ?? Infinity) - started.ms, 0);
  const waited = probed.to.ms - probed.from.ms - stores;
  demand(waited <= 0, 'next run', () => `a next run had to wait for ${waited} ms`);
}

function checkOthers(observed: Observed): void {
  const {companions, stops, watch, settled} = observed;
  const held = watch.calls.filter(({kind, caller, started}) => kind === 'store' && caller === 'run' && started.order < settled.order);
  const [from, until] = [held[0]?.started.order ?? Infinity, held.at(-1)?.ended?.order ?? 0];
  const between = watch.calls.find(
    ({kind, caller, started: {order}}) => kind === 'store' && caller === 'companion' && order > from && order < until,
  );
  demand(!between || storeFailed(observed), 'others', () => `another run came to its ${between?.name} while this one held the session`);
  if (stops.some(({stop}) => stop.kind === 'cancel session' || stop.kind === 'close')) return;
  const touched = companions.find(({outcome}) => outcome.kind !== 'done' && outcome.kind !== 'waiting');
  demand(!touched, 'others', () => `another run on the session ended with ${touched?.outcome.kind}, ${tell(touched?.error)}`);
}
