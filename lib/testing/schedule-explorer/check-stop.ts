import {isDeepStrictEqual} from 'node:util';
import {RunnerClosedError} from '../../errors.ts';
import {getFunctionResponses, type Event} from '../../events/event.ts';
import type {LlmResponse} from '../../models/llm-response.ts';
import {directStop} from './expected-ends.ts';
import {tell} from './tell.ts';
import type {Observed} from './observed.ts';
import {runsBranches} from './scenario.ts';
import {demand} from './schedule-error.ts';
import type {Instant, WatchedCall} from './watched-call.ts';

/** Milliseconds that timers may add to the bounds: each is armed a turn after the last has fired, and a delay of 0 is 1. */
const TURNS_MS = 5;

/** After a stop nothing starts, everything under way is told, and the run is over in time. */
export function checkStop(observed: Observed): void {
  const {watch, outcome} = observed;
  const calls = watch.calls.filter(({caller}) => caller === 'run');
  checkContext(observed);
  checkStarts(observed, calls);
  checkPrompt(observed, calls);
  const open = calls.find(
    ({kind, signal, aborted, ended}) => kind === 'model' && signal && (!aborted || (ended && aborted.turn > ended.turn)),
  );
  demand(!open, 'stop', () => `the signal of a call to model ${open?.name} did not fire when the call was over`);
  const asked = calls.filter(({kind}) => kind === 'model').length;
  demand(outcome.llmCalls === asked, 'settled', () => `llmCalls is ${outcome.llmCalls}; the models were called ${asked} times`);
  checkDeadlines(observed, calls);
  checkFenced(observed, calls);
  checkUsage(observed, calls);
  checkAbandoned(observed, calls, stoppedAtMs(observed) ?? Infinity);
  checkAhead(observed, calls);
}

function checkContext({watch, run}: Observed): void {
  for (const {kind, name, caller, event} of watch.calls) {
    const lost =
      caller === undefined || caller === 'reader' || caller === 'stopper' || (event?.invocationId === run.invocationId && caller !== 'run');
    demand(!lost, 'context', () => `${kind} ${name} was called in the async context of ${caller ?? 'nobody'}, not in that of the run`);
  }
}

function checkStarts(observed: Observed, calls: readonly WatchedCall[]): void {
  const unasked = observed.stops.find(({phase, stop: {kind}}) => phase === 'created' && kind !== 'break' && !kind.startsWith('cancel'));
  demand(!unasked || calls.length === 0, 'stop', () => `${calls[0]?.kind} ${calls[0]?.name} started after ${unasked?.stop.kind}`);
  const after = effectOrder(observed, calls);
  const started = calls.find((call) => call.started.order > after && !isClosing(call));
  demand(!started, 'stop', () => `${started?.kind} ${started?.name} started after the stop`);
  const stop = directStop(observed);
  if (!stop) return;
  const {
    stop: {kind},
    at,
    unsignalled,
    inFlight,
    reason,
  } = stop;
  const [deaf] = unsignalled;
  demand(!deaf, 'stop', () => `${deaf?.kind} ${deaf?.name} was under way, and ${kind} came back before its signal had fired`);
  if (reason === undefined || observed.outcome.kind !== 'abort') return;
  const other = inFlight.find(({signal, aborted}) => signal && (aborted?.order ?? 0) > at.order && !Object.is(signal.reason, reason));
  demand(!other, 'stop', () => `${other?.kind} ${other?.name} got ${tell(other?.signal?.reason)} as the reason, not ${tell(reason)}`);
}

/** When the stop took effect: at once, or when the first signal fired because of it. */
function effectOrder(observed: Observed, calls: readonly WatchedCall[]): number {
  const stop = directStop(observed) ?? (observed.reader.left && {at: observed.reader.left});
  if (stop) return stop.at.order;
  const {reason} = observed.outcome;
  const told = calls.flatMap(({signal, aborted}) =>
    reason !== undefined && aborted && Object.is(signal?.reason, reason) ? aborted.order : [],
  );
  return Math.min(...told);
}

/** What completes the work that was done, and undoes what was only for the run. */
function isClosing({kind, name}: WatchedCall): boolean {
  return kind === 'store' ? name === 'appendEvent' || name === 'deleteSession' : /^(after(Run|Agent|Tool)|onEvent)Callback /.test(name);
}

/** Within the bounds always; at once where everything that the run waited for came back at once. */
function checkPrompt(observed: Observed, calls: readonly WatchedCall[]): void {
  const {settled, stops, reader, limits} = observed;
  const from = stoppedAtMs(observed);
  if (from === undefined) return;
  const answers = stops.flatMap(({stop, result, phase}) =>
    result && phase !== 'over' ? [{name: `\`${stop.kind}\``, ms: result.at.ms}] : [],
  );
  const ends = [...answers, {name: '`settled`', ms: settled.ms}, {name: '`next()`', ms: reader.end?.at.ms ?? 0}];
  const boundMs = limits.abortGraceMs + limits.closeTimeoutMs + TURNS_MS;
  const slow = ends.find(({ms}) => ms - from > boundMs);
  demand(!slow, 'prompt', () => `${slow?.name} came ${(slow?.ms ?? 0) - from} ms after the stop; grace and closing allow ${boundMs} ms`);

  const awaited = calls.filter(({ended}) => !ended || ended.ms >= from);
  if (awaited.some(({ended}) => !ended)) return;
  const lastMs = Math.max(from, ...awaited.map(({ended}) => ended?.ms ?? 0));
  demand(
    settled.ms <= lastMs,
    'prompt',
    () => `\`settled\` came ${settled.ms - lastMs} ms after the last thing that the run had to wait for`,
  );
}

/** When the stop that decided took effect, in virtual time. */
function stoppedAtMs(observed: Observed): number | undefined {
  const {outcome, limits, reader, stops} = observed;
  const asked = reader.asked?.ms ?? 0;
  if (outcome.kind === 'timeout') return asked + limits.timeoutMs;
  const close = stops.find(({stop}) => stop.kind === 'close');
  if (close && outcome.reason instanceof RunnerClosedError) return Math.max(asked, close.at.ms + 1);
  if (outcome.kind !== 'abort' && outcome.kind !== 'return') return undefined;
  const stoppedMs = [directStop(observed)?.at.ms, reader.left?.ms].filter((ms) => ms !== undefined);
  return stoppedMs.length > 0 ? Math.max(asked, Math.min(...stoppedMs)) : asked;
}

/** Exactly what was still under way when the run was over was left behind, and is named. */
function checkAbandoned({outcome, settled}: Observed, calls: readonly WatchedCall[], stoppedMs: number): void {
  const left = calls.filter(({ended, started}) => started.order < settled.order && (!ended || ended.order > settled.order));
  const unnamed = left.find(({kind, name}) => kind !== 'store' && !outcome.abandoned.some((told) => told.includes(name)));
  demand(
    !unnamed,
    'settled',
    () => `${unnamed?.kind} ${unnamed?.name} was left behind; abandoned names ${outcome.abandoned.join(', ') || 'nothing'}`,
  );
  // A tool may have been left behind at its own deadline, and have ended since.
  const deaf = calls.filter(
    ({kind, ended, aborted}) => kind !== 'store' && (ended?.ms ?? Infinity) > Math.min(aborted?.ms ?? Infinity, stoppedMs),
  );
  const invented = outcome.abandoned.length > 0 && left.length === 0 && deaf.length === 0;
  demand(!invented, 'settled', () => `abandoned names ${outcome.abandoned.join(', ')}, and nothing was left behind`);
}

/** A tool that takes longer than it may is told so at its deadline. */
function checkDeadlines({settled}: Observed, calls: readonly WatchedCall[]): void {
  for (const {kind, name, timeoutMs = Infinity, started, aborted, ended} of calls) {
    const dueMs = started.ms + timeoutMs;
    const isLate = kind === 'tool' && Math.min(ended?.ms ?? Infinity, settled.ms) > dueMs && (aborted?.ms ?? Infinity) > dueMs;
    demand(!isLate, 'prompt', () => `the signal of tool ${name} had not fired ${timeoutMs} ms after its start`);
  }
}

/** What an agent gives that was left behind is lost. */
function checkFenced(observed: Observed, calls: readonly WatchedCall[]): void {
  const from = stoppedAtMs(observed);
  if (from === undefined) return;
  const untilMs = from + observed.limits.abortGraceMs + TURNS_MS;
  const late = calls.flatMap(({kind, yielded}) => (kind === 'agent' ? yielded.filter(({at}) => at.ms > untilMs) : []));
  const stored = late.map(({value}) => value as Event).find((event) => observed.lateEvents.some(({id}) => id === event.id));
  demand(!stored, 'late', () => `an Event is stored that an agent gave when it had been left behind: ${tell(stored?.content)}`);
}

/** What the models said that they used is counted, also of a call that was cut. */
function checkUsage(observed: Observed, calls: readonly WatchedCall[]): void {
  const stop = directStop(observed);
  const sum = (counts: (at: Instant) => boolean): Record<string, number> => {
    const used: Record<string, number> = {};
    for (const {kind, yielded} of calls) {
      if (kind !== 'model') continue;
      const last = yielded.findLast(({value, at}) => (value as LlmResponse).usageMetadata && counts(at))?.value as LlmResponse | undefined;
      for (const [key, value] of Object.entries(last?.usageMetadata ?? {}))
        if (typeof value === 'number') used[key] = (used[key] ?? 0) + value;
    }
    return used;
  };
  // The last piece may have come in the same turn as the stop, too late to be seen.
  const possible = [sum(() => true), sum(({turn}) => turn !== stop?.at.turn)];
  const told = observed.outcome.usage ?? {};
  demand(
    possible.some((used) => isDeepStrictEqual(used, told)),
    'settled',
    () => `usage is ${tell(told)}; the models told ${tell(possible[0])}`,
  );
}

/** Nothing starts while the reader is idle, but for the rest of a round of tools that shows its progress. */
function checkAhead({reader: {pause, events}, schedule, stops, scenario}: Observed, calls: readonly WatchedCall[]): void {
  const last = events[(schedule.pauseAfter ?? 0) - 1]?.event;
  if (!pause || !last) return;
  const until = Math.min(pause.to?.order ?? Infinity, ...stops.map(({at}) => at.order));
  const isAhead = ({at: {order}}: {readonly at: Instant}): boolean => order > pause.from.order && order < until;
  const eager = calls.find(({kind, yielded}) => kind === 'tool' && yielded.filter(isAhead).length > 1);
  demand(!eager, 'ahead', () => `tool ${eager?.name} went on while nobody had taken what it showed`);
  if ((last.partial && getFunctionResponses(last).length > 0) || runsBranches(scenario)) return;
  const ahead = calls.find(({started}) => started.order > pause.from.order && started.order < until);
  demand(!ahead || schedule.deadlineMs !== undefined, 'ahead', () => `${ahead?.kind} ${ahead?.name} started while the reader was idle`);
}
