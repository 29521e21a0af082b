/** The ways to stop a run, and what a reader and `settled` are told then. */
import {vi} from 'vitest';
import {RunCancelledError, RunnerClosedError, RunTimeoutError, type RunKind} from 'sluice';
import type {Moment} from './stop-moments.ts';
import {RUN_TIMEOUT_MS, type Scene} from './stop-scene.ts';

export interface Kind {
  readonly name: string;
  readonly settled: RunKind;
  /** Checks what `next()` rejects with, and `settled` tells; missing where the reader has left, and nothing is thrown. */
  readonly isReason?: (reason: unknown, scene: Scene) => boolean;
  /** Where it can be used. Default: everywhere. */
  readonly fits?: (moment: Moment) => boolean;
  /** Reads up to the moment, where reading is a part of it. Default: by `next()`. */
  readonly read?: (scene: Scene, moment: Moment, stop: () => void) => Promise<void>;
  /** Stops the run. Resolves once the run has ended, where the way to stop it promises that. */
  stop(scene: Scene): unknown;
}

const abort = (name: string, reason: unknown): Kind => ({
  name: `abort with ${name}`,
  settled: 'abort',
  isReason: (it, {stop}) => it === stop.signal.reason && (reason === undefined || it === reason),
  stop: ({stop}) => stop.abort(reason),
});

const THROWN = new RangeError('thrown in');

/** What `throw()` itself rejects with is what it was given. */
async function throwIn({run}: Scene): Promise<void> {
  const thrown = await run.throw(THROWN).catch((error: unknown) => error);
  if (thrown !== THROWN) throw new Error('throw() did not reject with what it was given', {cause: thrown});
}

async function cancel(scene: Scene, selector: Parameters<Scene['runner']['cancel']>[0]): Promise<void> {
  const stopped = await scene.runner.cancel(selector);
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
  {name: 'return()', settled: 'return', stop: ({run}) => run.return()},
  {
    name: 'await using',
    settled: 'return',
    stop: async ({run}) => {
      await using left = run;
      void left;
    },
  },
  {name: 'throw()', settled: 'abort', isReason: (it) => it === THROWN, stop: throwIn},
  {
    name: 'cancel() of the session',
    settled: 'abort',
    isReason: (it) => it instanceof RunCancelledError,
    stop: (scene) => cancel(scene, {userId: 'u', sessionId: 's'}),
  },
  {
    name: 'cancel() of the run',
    settled: 'abort',
    isReason: (it) => it instanceof RunCancelledError,
    stop: (scene) => cancel(scene, {invocationId: scene.run.invocationId}),
  },
  {
    name: 'close() at its deadline',
    settled: 'abort',
    isReason: (it) => it instanceof RunnerClosedError,
    stop: async ({runner}) => {
      const closing = runner.close({timeoutMs: 1_000});
      await vi.advanceTimersByTimeAsync(1_000);
      await closing;
    },
  },
  {
    name: 'the deadline of the run',
    settled: 'timeout',
    isReason: (it) => it instanceof RunTimeoutError,
    stop: () => vi.advanceTimersByTimeAsync(RUN_TIMEOUT_MS),
  },
];
