// Every way to stop a run at every moment of it, over real HTTP against servers that watch their own sockets. The clock of the timers is a
// fake one that only a test moves: so no stop may need a grace or a deadline to come to its end, and each timer that is left is seen.
import {afterAll, afterEach, beforeAll, beforeEach, describe, expect, test} from 'vitest';
import {answer, chunks, collect} from 'sluice/testing';
import {expectNoListeners, expectValid, idle, line} from '../stories/kit.ts';
import {OurClock} from './our-clock.ts';
import {stopAt} from './stop-at.ts';
import {kinds, type Kind} from './stop-kinds.ts';
import {moments, type Moment} from './stop-moments.ts';
import {Scene, turns} from './stop-scene.ts';

/** Milliseconds from a stop to the close of a socket, as its server saw it. */
const took: {model: number[]; service: number[]} = {model: [], service: []};

const unhandled: unknown[] = [];
const note = (reason: unknown): void => void unhandled.push(reason);

// The first close of a runner loads it: that takes real time, of which the clock knows nothing.
beforeAll(() => import('sluice/flow'));

beforeEach(() => void process.on('unhandledRejection', note));

afterEach(async () => {
  await idle();
  process.off('unhandledRejection', note);
  const left = unhandled.splice(0);
  if (left.length > 0) throw new AggregateError(left, 'Rejections that nobody handled');
});

afterAll(() => {
  for (const [whose, list] of Object.entries(took)) {
    const sorted = list.toSorted((x, y) => x - y);
    const at = (share: number): string => `${sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]?.toFixed(1)} ms`;
    console.log(`stop to socket closed, ${whose}: ${sorted.length} stops, median ${at(0.5)}, 95 % under ${at(0.95)}, most ${at(1)}`);
  }
});

const all = moments.flatMap((moment) => {
  const fit = kinds.filter(({name, fits}) => !moment.except?.includes(name) && (fits?.(moment) ?? true));
  return fit.map((kind) => [kind.name, moment.name, kind, moment] as const);
});

describe('a run', () => {
  test.each(all)('is ended by %s %s', async (_kind, _moment, kind, moment) => {
    using clock = new OurClock();
    await using scene = await Scene.start(moment, clock);
    const stoppedAt = await stopAt(scene, kind, moment);
    await expectTold(scene, kind, moment);
    await expectClosed(scene, moment, kind.byClock ? undefined : stoppedAt);
    const stored = await scene.stored();
    expect(stored.map(line)).toEqual(moment.stored);
    expectValid(stored);
    expectNoListeners(scene.stop.signal);
    expect(clock.pending).toBe(0);

    // Whatever is still on its way comes now, and an hour of the clock passes.
    await turns();
    await clock.pass(3_600_000);
    await turns();
    expect(await scene.run.next()).toEqual({done: true, value: undefined});
    expect(scene.server.requests).toHaveLength(moment.model.length);
    expect(scene.service.requests).toHaveLength(moment.service?.length ?? 0);
    expect(await scene.stored()).toEqual(stored);
    expect(scene.diagnostics).toEqual([]);
    if (kind.name !== 'close() at its deadline' && !moment.name.endsWith('token is fetched')) await expectGoesOn(scene);
  });

  const inQueue = kinds.filter(({name, fits}) => !fits && !/session|close/.test(name));
  test.each(inQueue.map((kind) => [kind.name, kind] as const))(
    'is ended by %s while it waits for its turn on the session',
    async (_, kind) => {
      using clock = new OurClock();
      await using scene = await Scene.start({replies: [chunks(['one', 'two'], {fault: {kind: 'stall', after: 1}})]}, clock);
      const holder = scene.start({abortSignal: undefined, runConfig: {timeoutMs: Infinity, streamingMode: 'sse'}});
      await holder.next();
      await stopAt(scene, kind, {reads: 0, pending: true, reached: () => turns()});
      expect(await scene.run.settled).toMatchObject({kind: kind.settled, llmCalls: 0, abandoned: [], lastEventId: undefined});
      expectNoListeners(scene.stop.signal);
      // The other one has not noticed, and nobody takes its place when it is over.
      expect(scene.server.requests.map(({closedEarly}) => closedEarly)).toEqual([false]);
      await holder.return();
      await turns();
      expect(scene.server.requests.map(({closedEarly}) => closedEarly)).toEqual([true]);
      expect((await scene.stored()).map(line)).toEqual(['user: "go"', 'root: "one" [stopped]']);
      expect(clock.pending).toBe(0);
    },
  );
});

/** The session is one that the model's server takes, and the agent, the runner and the client are as good as new. */
async function expectGoesOn(scene: Scene): Promise<void> {
  scene.server.reply(answer('again'));
  const {outcome} = await collect(scene.start({abortSignal: undefined}));
  expect(outcome).toMatchObject({kind: 'done', llmCalls: 1});
  expect(scene.server.requests.flatMap(({refusal}) => refusal ?? [])).toEqual([]);
  expectValid(await scene.stored());
}

async function expectTold(scene: Scene, kind: Kind, moment: Moment): Promise<void> {
  const outcome = await scene.run.settled;
  const stored = await scene.stored();
  expect(outcome).toMatchObject({kind: kind.settled, abandoned: [], lastEventId: stored.at(-1)?.id});
  expect(outcome.llmCalls).toBe(moment.llmCalls ?? moment.model.length);
  if (kind.isReason) expect(kind.isReason(outcome.reason, scene)).toBe(true);
  else expect(outcome).not.toHaveProperty('reason');
}

/** Each socket that was open is closed by the stop, and no other. */
async function expectClosed(scene: Scene, {model, service = []}: Moment, stoppedAt: number | undefined): Promise<void> {
  const modelCloses = await Promise.all(scene.server.requests.map(async ({closed, receivedAt}) => ({...(await closed), receivedAt})));
  const toolCloses = await Promise.all(
    scene.service.requests.map(async ({closed, startedAt}) => ({...(await closed), receivedAt: startedAt})),
  );
  expect(modelCloses.map(({early}) => early)).toEqual(model);
  expect(toolCloses.map(({early}) => early)).toEqual(service);
  if (stoppedAt === undefined) return;
  for (const [list, closes] of [
    [took.model, modelCloses],
    [took.service, toolCloses],
  ] as const) {
    list.push(...closes.flatMap(({early, afterMs, receivedAt}) => (early ? [receivedAt + afterMs - stoppedAt] : [])));
  }
}
