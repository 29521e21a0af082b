// Live runs that are stopped before they hold their session, or that never get it.
import {describe, expect, test} from 'vitest';
import {InvalidOptionError, LiveRequestQueue, LlmAgent, Runner, RunnerClosedError, SessionBusyError} from 'sluice';
import {hang, ScriptedLlm} from 'sluice/testing';
import {expectNoListeners} from '../stories/kit.ts';
import {OurClock} from '../wire/our-clock.ts';
import {stopAt} from '../wire/stop-at.ts';
import {liveKinds} from './stop-kinds.ts';
import {heard, turns} from './stop-moments.ts';
import {Scene} from './stop-scene.ts';
import {failOnUnhandled} from './stop-unhandled.ts';

/** Nothing has begun, and nobody is kept waiting. */
async function expectUntouched(scene: Scene): Promise<void> {
  await Promise.all(scene.sends);
  expect(scene.queue.closed).toBe(true);
  expect(scene.server.sessions).toEqual([]);
  expect(scene.entered).toEqual([]);
  expect(await scene.stored()).toEqual([]);
  expectNoListeners(scene.stop.signal);
  expect(scene.clock.pending).toBe(0);
}

describe('a live run', () => {
  failOnUnhandled();

  test('starts nothing where its signal has fired before', async () => {
    using clock = new OurClock();
    await using scene = await Scene.start({}, clock);
    scene.stop.abort('early');
    await expect(scene.run.next()).rejects.toBe('early');
    expect(await scene.run.settled).toMatchObject({kind: 'abort', reason: 'early', llmCalls: 0, lastEventId: undefined});
    await expectUntouched(scene);
  });

  test('starts nothing where its runner is closed', async () => {
    using clock = new OurClock();
    await using scene = await Scene.start({}, clock);
    await scene.runner.close();
    await expect(scene.run.next()).rejects.toBeInstanceOf(RunnerClosedError);
    await expectUntouched(scene);
  });

  test('closes its queue where it cannot be run at all', async () => {
    using clock = new OurClock();
    await using scene = await Scene.start({}, clock);
    const run = scene.start({liveRequestQueue: scene.queue, abortSignal: scene.stop.signal, runConfig: {timeoutMs: -1}});
    await expect(run.next()).rejects.toBeInstanceOf(InvalidOptionError);
    await expectUntouched(scene);
  });

  test.each([['nothing'], ['something else', {close: 5}], ['nearly one', {close: 5, sendContent: () => {}}]])(
    'takes no queue that is %s',
    async (_, queue?) => {
      using clock = new OurClock();
      await using scene = await Scene.start({}, clock);
      const run = scene.start({liveRequestQueue: queue as never, abortSignal: scene.stop.signal});
      await expect(run.next()).rejects.toMatchObject({code: 'INVALID_OPTION', option: 'request.liveRequestQueue'});
      expect(await run.settled).toMatchObject({kind: 'error', llmCalls: 0});
      expectNoListeners(scene.stop.signal);
    },
  );

  const inQueue = liveKinds.filter(({name, fits}) => !fits && !/session|reason|close/.test(name));
  test.each(inQueue.map((kind) => [kind.name, kind] as const))(
    'is ended by %s while it waits for its turn on the session',
    async (_, kind) => {
      using clock = new OurClock();
      await using scene = await Scene.start({}, clock);
      const agent = new LlmAgent({name: 'root', model: new ScriptedLlm({steps: [hang()]})});
      const other = new Runner({appName: 'app', agent, sessionService: scene.store});
      const holder = other.runAsync({userId: 'u', sessionId: 's', newMessage: {parts: [{text: 'mine'}]}, runConfig: {timeoutMs: Infinity}});
      const holding = holder.next();
      await turns();
      await stopAt(scene, kind, {reads: 0, pending: true, reached: () => turns()});
      expect(await scene.run.settled).toMatchObject({kind: kind.settled, llmCalls: 0, abandoned: [], lastEventId: undefined});
      await Promise.all(scene.sends);
      expect(scene.queue.closed).toBe(true);
      expectNoListeners(scene.stop.signal);
      // The other one has not noticed, and nobody takes its place when it is over.
      await holder.return();
      await holding;
      await turns();
      expect(scene.server.sessions).toEqual([]);
      expect((await scene.stored()).map(({content}) => content?.parts)).toEqual([[{text: 'mine'}]]);
      expect(clock.pending).toBe(0);
    },
  );

  test('holds its session alone until it is stopped', async () => {
    using clock = new OurClock();
    await using scene = await Scene.start({sessions: [heard((session) => session.say('one'))]}, clock);
    await scene.read(1);
    const liveRequestQueue = new LiveRequestQueue();
    const second = scene.start({liveRequestQueue, abortSignal: undefined});
    await expect(second.next()).rejects.toBeInstanceOf(SessionBusyError);
    expect(liveRequestQueue.closed).toBe(true);
    expect([scene.queue.closed, scene.server.sessions.map(({isClosed}) => isClosed)]).toEqual([false, [false]]);
    await scene.run.return();
    const third = scene.start({liveRequestQueue: new LiveRequestQueue(), abortSignal: undefined});
    const reading = third.next();
    await scene.server.nextSession();
    await scene.server.nextSession();
    await third.return();
    expect(await reading).toEqual({done: true, value: undefined});
    expect(await Promise.all(scene.server.sessions.map(async ({closed}) => (await closed).early))).toEqual([true, true]);
  });
});
