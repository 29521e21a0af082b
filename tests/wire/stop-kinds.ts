/** The ways to stop a run, and what a reader and `settled` are told then. */
import {
  RunCancelledError,
  RunnerClosedError,
  RunTimeoutError,
  type Event,
  type Run,
  type RunKind,
  type Runner,
  type RunSelector,
} from 'sluice';
import type {OurClock} from './our-clock.ts';

/** The deadline of the run, on the fake clock, and before anything else that a moment has the clock set for. */
export const RUN_TIMEOUT_MS = 10_000;

/** What a stop has to do with: a run on the session `s` of the user `u`, of whatever sort. */
export interface StoppableScene {
  readonly clock: OurClock;
  readonly runner: Runner;
  readonly run: Run;
  readonly stop: AbortController;
  /** What the reader has got. */
  readonly events: Event[];
  /** Reads so many Events. */
  read(count: number): Promise<void>;
}

/** When a run is stopped. */
export interface StopMoment<S> {
  /** How many Events the reader gets before; of a streamed reply the pieces and the whole. */
  readonly reads: number;
  /** Whether a next() is pending at the stop. */
  readonly pending: boolean;
  /** Waits for the moment itself. */
  readonly reached?: (scene: S) => Promise<unknown>;
  /** Called right after the stop was begun. */
  readonly after?: (scene: S) => void;
}

export interface Kind {
  readonly name: string;
  readonly settled: RunKind;
  /** Checks what `next()` rejects with, and `settled` tells; missing where the reader has left, and nothing is thrown. */
  readonly isReason?: (reason: unknown, scene: StoppableScene) => boolean;
  /** Where it can be used. Default: everywhere. */
  readonly fits?: (moment: StopMoment<never>) => boolean;
  /** Reads up to the moment, where reading is a part of it. Default: by `next()`. */
  readonly read?: <S extends StoppableScene>(scene: S, moment: StopMoment<S>, stop: () => void) => Promise<void>;
  /** Whether the clock makes the stop, not the call: it then comes somewhat later, and says nothing about how long a stop takes. */
  readonly byClock?: boolean;
  /** Stops the run, and calls `begun` as soon as it is being stopped. Resolves once it has ended, where the way to stop it promises that. */
  stop(scene: StoppableScene, begun: () => void): unknown;
}

const abort = (name: string, reason: unknown): Kind => ({
  name: `abort with ${name}`,
  settled: 'abort',
  isReason: (it, {stop}) => it === stop.signal.reason && (reason === undefined || it === reason),
  stop: ({stop}, begun) => {
    stop.abort(reason);
    begun();
  },
});

const THROWN = new RangeError('thrown in');

/** What `throw()` itself rejects with is what it was given. */
async function throwIn({run}: StoppableScene, begun: () => void): Promise<void> {
  const throwing = run.throw(THROWN).catch((error: unknown) => error);
  begun();
  const thrown = await throwing;
  if (thrown !== THROWN) throw new Error('throw() did not reject with what it was given', {cause: thrown});
}

export async function cancel({runner}: StoppableScene, selector: RunSelector, begun: () => void, ...reason: unknown[]): Promise<void> {
  const cancelling = runner.cancel(selector, ...reason);
  begun();
  const stopped = await cancelling;
  if (stopped !== 1) throw new Error(`cancel() stopped ${stopped} runs`);
}

export const kinds: readonly Kind[] = [
  abort('an Error', new TypeError('of the caller')),
  abort('a string', 'stop'),
  abort('nothing', undefined),
  abort('a TimeoutError', new DOMException('too late', 'TimeoutError')),
  {
    name: 'break',
    settled: 'return',
    fits: ({pending, reads}) => !pending && reads > 0,
    read: async (scene, {reads, reached}, stop) => {
      for await (const event of scene.run) {
        if (scene.events.push(event) < reads) continue;
        await reached?.(scene);
        stop();
        break;
      }
    },
    stop: () => {},
  },
  {
    name: 'return()',
    settled: 'return',
    stop: async ({run}, begun) => {
      const leaving = run.return();
      begun();
      await leaving;
    },
  },
  {
    name: 'await using',
    settled: 'return',
    stop: async ({run}, begun) => {
      await using left = run;
      // By the time that this runs, the block is being left.
      queueMicrotask(begun);
      void left;
    },
  },
  {name: 'throw()', settled: 'abort', isReason: (it) => it === THROWN, stop: throwIn},
  {
    name: 'cancel() of the session',
    settled: 'abort',
    isReason: (it) => it instanceof RunCancelledError,
    stop: (scene, begun) => cancel(scene, {userId: 'u', sessionId: 's'}, begun),
  },
  {
    name: 'cancel() of the run',
    settled: 'abort',
    isReason: (it) => it instanceof RunCancelledError,
    stop: (scene, begun) => cancel(scene, {invocationId: scene.run.invocationId}, begun),
  },
  {
    name: 'close() at its deadline',
    settled: 'abort',
    isReason: (it) => it instanceof RunnerClosedError,
    byClock: true,
    stop: async ({runner, clock}, begun) => {
      const closing = runner.close({timeoutMs: 1_000});
      await clock.pass(1_000);
      begun();
      await closing;
    },
  },
  {
    name: 'the deadline of the run',
    settled: 'timeout',
    isReason: (it) => it instanceof RunTimeoutError,
    byClock: true,
    stop: ({clock}, begun) => clock.pass(RUN_TIMEOUT_MS).then(begun),
  },
];
