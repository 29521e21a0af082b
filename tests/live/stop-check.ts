/** Stops a live run at a moment, and checks that nothing is left of it but a session that is valid. */
import {expect, test} from 'vitest';
import {LiveRequestQueueError} from 'sluice';
import {expectNoListeners} from '../stories/kit.ts';
import {OurClock} from '../wire/our-clock.ts';
import {stopAt} from '../wire/stop-at.ts';
import type {Kind} from '../wire/stop-kinds.ts';
import {expectValidLive, liveLine} from './kit.ts';
import {expectGoesOn} from './stop-goes-on.ts';
import {liveKinds} from './stop-kinds.ts';
import {AFTER, turns, type Aftermath, type Moment} from './stop-moments.ts';
import {Scene} from './stop-scene.ts';
import {failOnUnhandled} from './stop-unhandled.ts';

/** Milliseconds from a stop to the close of a socket, as its server saw it. */
const took: {live: number[]; service: number[]} = {live: [], service: []};
/** No socket may need as long as that; how long they take is told, not tested. */
const BOUND_MS = 5_000;

/** Tests for each way to stop at each of these moments. */
export function stopEveryWay(moments: readonly Moment[]): void {
  failOnUnhandled();
  const all = moments.flatMap((moment) => {
    const fit = liveKinds.filter(({name, fits}) => !moment.except?.includes(name) && (fits?.(moment) ?? true));
    return fit.map((kind) => [kind.name, moment.name, kind, moment] as const);
  });
  test.each(all)('is ended by %s %s', async (_kind, _moment, kind, moment) => {
    using clock = new OurClock();
    await using scene = await Scene.start(moment, clock);
    await expectStopped(scene, kind, moment);
  });
}

async function expectStopped(scene: Scene, kind: Kind, moment: Moment): Promise<void> {
  const stoppedAt = await stopAt(scene, kind, moment);
  await expectLeftAlone(scene, kind, {moment, stoppedAt: kind.byClock ? undefined : stoppedAt});
  await expectGoesOn(scene, {live: kind.name !== 'close() at its deadline' && (moment.isReachable ?? true)});
}

/** What a run looks like that has ended, in whatever way: it is told of, nothing goes on, and the session is valid. */
export async function expectLeftAlone(
  scene: Scene,
  kind: Pick<Kind, 'settled' | 'isReason'>,
  {moment, stoppedAt}: {readonly moment: Aftermath; readonly stoppedAt?: number | undefined},
): Promise<void> {
  const {clock, queue} = scene;
  const outcome = await scene.run.settled;
  const stored = await scene.stored();
  expect(outcome).toMatchObject({
    kind: kind.settled,
    abandoned: moment.abandoned ?? [],
    lastEventId: stored[moment.earlier?.length ?? 0] && stored.at(-1)?.id,
    llmCalls: moment.llmCalls ?? 0,
  });
  if (kind.isReason) expect(kind.isReason(outcome.reason, scene)).toBe(true);
  else expect(outcome).not.toHaveProperty('reason');
  await expectClosed(scene, moment, stoppedAt);

  // The queue takes nothing more, and whoever waited for room in it is let go.
  expect(queue.closed).toBe(true);
  expect(() => void queue.sendContent({parts: [{text: 'too late'}]})).toThrow(
    expect.objectContaining({constructor: LiveRequestQueueError, code: 'LIVE_QUEUE_CLOSED'}),
  );
  await Promise.all(scene.sends);

  expect(stored.map(liveLine)).toEqual(moment.stored);
  expectValidLive(stored);
  expectNoListeners(scene.stop.signal);
  expect(clock.pending).toBe(0);

  // Whatever is still on its way comes now, and an hour of the clock passes.
  scene.letGo.resolve();
  await turns();
  await clock.pass(3_600_000);
  await turns();
  expect(await scene.run.next()).toEqual({done: true, value: undefined});
  expect(await connectionsOf(scene)).toEqual(moment.connections);
  expect(scene.service.requests).toHaveLength(moment.service?.length ?? 0);
  expect(scene.entered).toEqual(moment.entered ?? [AFTER]);
  expect(await scene.stored()).toEqual(stored);
  expect(scene.diagnostics.map(({name}) => name)).toEqual([...(moment.abandoned ?? []), ...(moment.failed ?? [])]);
}

/** Each socket that was open is closed by the stop, and no other. */
async function expectClosed(scene: Scene, {gone, service = []}: Aftermath, stoppedAt: number | undefined): Promise<void> {
  const live = await Promise.all(scene.server.sessions.map(async ({closed, openedAt}) => ({...(await closed), openedAt})));
  const tools = await Promise.all(scene.service.requests.map(async ({closed, startedAt}) => ({...(await closed), openedAt: startedAt})));
  await gone?.(scene);
  expect(tools.map(({early}) => early)).toEqual(service);
  if (stoppedAt === undefined) return;
  for (const [list, closes] of [
    [took.live, live],
    [took.service, tools],
  ] as const) {
    const ms = closes.flatMap(({early, afterMs, openedAt}) => (early ? openedAt + afterMs - stoppedAt : []));
    expect(ms.filter((it) => it > BOUND_MS)).toEqual([]);
    list.push(...ms);
  }
}

/** Of each connection: the kinds of what the server has got over it, and `left` where its client has closed it. */
function connectionsOf({server}: Scene): Promise<string[]> {
  return Promise.all(
    server.sessions.map(async ({received, closed}) => {
      const kinds: string[] = received.map(({kind}) => kind);
      return [...kinds, ...((await closed).early ? ['left'] : [])].join(' ');
    }),
  );
}

/** Tells how long it took. */
export function report(): void {
  for (const [whose, list] of Object.entries(took)) {
    const sorted = list.toSorted((x, y) => x - y);
    const at = (share: number): string => `${sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]?.toFixed(1)} ms`;
    console.log(`stop to socket closed, ${whose}: ${sorted.length} stops, median ${at(0.5)}, 95 % under ${at(0.95)}, most ${at(1)}`);
  }
}
