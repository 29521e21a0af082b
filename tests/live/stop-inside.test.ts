// The ends that come from within a live run: a hook that throws, a reader that does not keep up, a limit, a store or a server that fails. The
// connection is closed, and the tools are stopped, at once, whether somebody reads or not; who reads gets what there was, and then the error.
import {describe, expect, test} from 'vitest';
import {fetching, quick} from '../wire/stop-scene.ts';
import {OurClock} from '../wire/our-clock.ts';
import {liveLine} from './kit.ts';
import {expectLeftAlone} from './stop-check.ts';
import {BOOM, endings, failOnce, situations, type Ending, type Situation} from './stop-endings.ts';
import {expectGoesOn} from './stop-goes-on.ts';
import {GO, heard, turns} from './stop-moments.ts';
import {Scene} from './stop-scene.ts';
import {failOnUnhandled} from './stop-unhandled.ts';

/** Reads until there is no more, and gives what came and how it ended. */
async function readOn(scene: Scene): Promise<{readonly lines: string[]; readonly reason?: unknown}> {
  const lines: string[] = [];
  try {
    for (;;) {
      const {value} = await scene.run.next();
      if (!value) return {lines};
      lines.push(liveLine(value));
    }
  } catch (reason) {
    return {lines, reason};
  }
}

const all = endings.flatMap((ending) => {
  const fitting = situations.filter((situation) => ending.fits?.(situation) ?? true);
  const readers = ending.needsIdleReader ? ['waits'] : ['waits', 'reads'];
  return fitting.flatMap((situation) => readers.map((what) => [ending.name, situation.name, what, ending, situation] as const));
});

describe('a live run', () => {
  failOnUnhandled();

  test.each(all)('is ended by %s %s and its reader %s', async (_name, _when, what, ending, situation) => {
    using clock = new OurClock();
    await using scene = await Scene.start({tools: ({service}) => [fetching(service, 'a')], ...situation, ...ending}, clock);
    await scene.read(1);
    if (situation.runsTool) await scene.service.nextRequest();
    const reading = what === 'reads' ? readOn(scene) : undefined;
    ending.happen(scene);
    // Nobody has to read for that.
    expect((await scene.session().closed).early).toBe(!ending.byServer);
    for (const {closed} of scene.service.requests) expect((await closed).early).toBe(true);
    await turns();
    expect(scene.queue.closed).toBe(true);

    const {lines, reason} = await (reading ?? readOn(scene));
    expect(lines).toEqual(ending.shown?.(situation.spoken ?? '') ?? []);
    expect(ending.isReason(reason)).toBe(true);
    await expectLeftAlone(scene, ending, {moment: aftermathOf(ending, situation)});
    await expectGoesOn(scene, {live: false});
  });

  test('stores the answer to its calls once more, where the store has failed to', async () => {
    using clock = new OurClock();
    const called = heard((session) => void session.toolCall([{name: 'quick'}]));
    await using scene = await Scene.start({sessions: [called], tools: () => [quick]}, clock);
    failOnce(scene, ({content}) => content?.parts?.some((part) => 'functionResponse' in part) ?? false);
    expect(await readOn(scene)).toEqual({lines: ['root: quick({})'], reason: BOOM});
    const stored = [GO, 'root: quick({})', 'root: quick={"result":"ready"}'];
    const moment = {connections: ['setup clientContent left'], stored, llmCalls: 1};
    await expectLeftAlone(scene, {settled: 'error', isReason: (it) => it === BOOM}, {moment});
  });
});

function aftermathOf({stored, isReply, byServer}: Ending, situation: Situation): Parameters<typeof expectLeftAlone>[2]['moment'] {
  const {spoken = '', stored: around, connections, runsTool} = situation;
  const [before, after] = around;
  const own = stored?.(spoken) ?? (spoken ? [`root: "${spoken}" [stopped]`] : []);
  return {
    connections: connections.map((it) => (byServer ? it : `${it} left`)),
    ...(runsTool && {service: [true]}),
    stored: [...before, ...own, ...after],
    llmCalls: isReply && !spoken ? 2 : 1,
  };
}
