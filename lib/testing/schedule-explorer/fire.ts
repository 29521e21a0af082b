import type {Run} from '../../runner/run.ts';
import type {Runner} from '../../runner/runner.ts';
import type {Reader} from './reader.ts';
import type {ScheduledStop} from './schedule.ts';
import type {Watch} from './watch.ts';
import type {Instant, WatchedCall} from './watched-call.ts';

/** A stop that was carried out. */
export interface FiredStop {
  readonly stop: ScheduledStop;
  readonly at: Instant;
  /** Where the run stood: not started, under way, or its reader had seen the end. */
  readonly phase: 'created' | 'running' | 'over';
  /** `next()` calls under way. */
  readonly pulling: number;
  /** What `next()` is to reject with: the very value, where the stop has one. */
  readonly reason?: unknown;
  /** Calls of the run that were under way. */
  readonly inFlight: readonly WatchedCall[];
  /** Those of them whose signal had not fired when the stop came back to its caller. */
  readonly unsignalled: readonly WatchedCall[];
  /** What the call that stopped it came to. */
  result?: {readonly at: Instant; readonly value?: unknown; readonly error?: unknown; readonly open: string | undefined};
  /** Whether there is such a call. */
  readonly answers: boolean;
}

export interface Target {
  readonly runner: Runner;
  readonly run: Run;
  readonly reader: Reader;
  readonly controller: AbortController;
  readonly userId: string;
  readonly sessionId: string;
  readonly watch: Watch;
  /** What is not stored yet that has to be. */
  readonly open: () => string | undefined;
}

/** Carries a stop out, and watches what comes of it. */
export function fire(stop: ScheduledStop, target: Target): FiredStop {
  const {watch, reader} = target;
  const inFlight = watch.calls.filter((call) => call.caller === 'run' && !call.ended);
  const phase = reader.ends.length > 0 || reader.left ? 'over' : reader.asked ? 'running' : 'created';
  const at = watch.instant();
  const {pulling} = reader;
  watch.landmarks.push(`STOP ${stop.kind}`);
  const {reason, answer} = watch.as('stopper', () => perform(stop, target));
  const unsignalled = inFlight.filter(({signal, ended}) => signal && !ended && !signal.aborted);
  const fired: FiredStop = {
    stop,
    at,
    phase,
    pulling,
    inFlight,
    unsignalled,
    answers: answer !== undefined,
    ...(reason && {reason: reason.value}),
  };
  const settle = (result: {value: unknown} | {error: unknown}): void => {
    fired.result = {...result, at: watch.instant(), open: target.open()};
  };
  answer?.then(
    (value) => settle({value}),
    (error: unknown) => settle({error}),
  );
  return fired;
}

interface Performed {
  readonly reason?: {readonly value: unknown};
  readonly answer?: Promise<unknown>;
}

function perform({kind}: ScheduledStop, {runner, run, reader, controller, userId, sessionId}: Target): Performed {
  switch (kind) {
    case 'abort':
      return abort(controller, [new Error('stopped by the schedule')]);
    case 'abort string':
      return abort(controller, ['stopped']);
    case 'abort undefined':
      return abort(controller, []);
    case 'return':
      return {answer: run.return()};
    case 'dispose':
      return {answer: run[Symbol.asyncDispose]()};
    case 'throw': {
      const value = new Error('thrown by the schedule');
      return {reason: {value}, answer: run.throw(value)};
    }
    case 'break':
      reader.leaving = true;
      return {};
    case 'cancel session':
      return {answer: runner.cancel({userId, sessionId})};
    case 'cancel run': {
      const value = 'cancelled by the schedule';
      return {reason: {value}, answer: runner.cancel({invocationId: run.invocationId}, value)};
    }
    case 'close':
      return {answer: runner.close({timeoutMs: 0})};
  }
}

function abort(controller: AbortController, reason: unknown[]): Performed {
  controller.abort(...reason);
  return {reason: {value: controller.signal.reason}};
}
