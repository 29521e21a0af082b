// The ends that come from within a live run: a hook that throws, a reader that does not keep up, a limit, a store or a server that fails. The
// connection is closed, and the tools are stopped, at once, whether somebody reads or not; who reads gets what there was, and then the error.
import {describe, expect, test} from 'vitest';
import {HookError, LiveOverflowError, LlmCallsLimitExceededError, ModelError, type RunKind} from 'sluice';
import {fetching, quick} from '../wire/stop-scene.ts';
import {OurClock} from '../wire/our-clock.ts';
import {liveLine} from './kit.ts';
import {expectLeftAlone} from './stop-check.ts';
import {expectGoesOn} from './stop-goes-on.ts';
import {AFTER, GO, heard, STARTED, turns} from './stop-moments.ts';
import {Scene, type SceneOptions} from './stop-scene.ts';
import {failOnUnhandled} from './stop-unhandled.ts';

interface Ending extends SceneOptions {
  readonly name: string;
  readonly settled: RunKind;
  readonly isReason: (reason: unknown) => boolean;
  /** Makes it happen, while a tool runs. */
  readonly happen: (scene: Scene) => void;
  /** What the reader still gets, besides the calls. */
  readonly shown?: readonly string[];
  /** What is stored between the calls and their answer. */
  readonly stored?: readonly string[];
  readonly entered?: readonly string[];
  readonly llmCalls?: number;
  /** Whether it comes about only where nobody reads. */
  readonly needsIdleReader?: boolean;
  /** Whether it is the server that closes the connection. */
  readonly byServer?: boolean;
}

const BOOM = new RangeError('boom');
const MUCH = 'much'.repeat(1_000);

const endings: readonly Ending[] = [
  {
    name: 'a hook after the model that throws',
    settled: 'error',
    isReason: (it) => it instanceof HookError && it.hook === 'afterModelCallback' && it.cause === BOOM,
    agent: () => ({
      afterModelCallback: ({response}) => {
        if (response.content?.parts?.[0]?.text === 'boom') throw BOOM;
      },
    }),
    happen: (scene) => scene.session().say('boom'),
  },
  {
    name: 'a hook before a tool that throws',
    settled: 'error',
    isReason: (it) => it instanceof HookError && it.hook === 'beforeToolCallback' && it.cause === BOOM,
    agent: () => ({
      beforeToolCallback: ({tool}) => {
        if (tool.name === 'b') throw BOOM;
      },
    }),
    tools: ({service}) => [fetching(service, 'a'), fetching(service, 'b')],
    happen: (scene) => void scene.session().toolCall([{name: 'b', id: 'b'}]),
    shown: ['root: b({})'],
    stored: ['root: b({})', 'root: b={"error":"cancelled","started":false}'],
    llmCalls: 2,
  },
  {
    name: 'more than the reader takes',
    settled: 'error',
    isReason: (it) => it instanceof LiveOverflowError && it.liveBufferBytes === 2_000,
    runConfig: {liveBufferBytes: 2_000},
    needsIdleReader: true,
    happen: (scene) => scene.session().say(MUCH),
    shown: [`root: "${MUCH}" [partial]`],
    stored: [`root: "${MUCH}" [stopped]`],
    llmCalls: 2,
  },
  {
    name: 'more than the reader takes, in a message that ends the turn',
    settled: 'error',
    isReason: (it) => it instanceof LiveOverflowError,
    runConfig: {liveBufferBytes: 2_000},
    needsIdleReader: true,
    happen: (scene) => scene.session().send({serverContent: {modelTurn: {parts: [{text: MUCH}]}, turnComplete: true}}),
    shown: [`root: "${MUCH}" [partial]`],
    stored: [`root: "${MUCH}" [turn complete]`],
    llmCalls: 2,
  },
  {
    name: 'more replies of the model than the run may have',
    settled: 'limit',
    isReason: (it) => it instanceof LlmCallsLimitExceededError,
    runConfig: {maxLlmCalls: 1},
    happen: (scene) => scene.session().say('two'),
  },
  {
    name: 'a store that fails once',
    settled: 'error',
    isReason: (it) => it === BOOM,
    happen: (scene) => {
      const append = scene.store.appendEvent.bind(scene.store);
      scene.store.appendEvent = () => {
        scene.store.appendEvent = append;
        return Promise.reject(BOOM);
      };
      scene.session().say('two');
      scene.session().completeTurn();
    },
    shown: ['root: "two" [partial]'],
    llmCalls: 2,
  },
  {
    name: 'an answer of the user to a call that does not wait',
    settled: 'error',
    isReason: (it) => it instanceof Error && it.name === 'FunctionResponseError',
    happen: (scene) => {
      scene.sends.push(scene.queue.sendContent({parts: [{functionResponse: {id: 'nobody', name: 'a', response: {}}}]}));
      // It waits for the call that the model waits for.
      scene.session().cancelToolCalls(['a']);
    },
    shown: ['root: [partial, cancels a]'],
    llmCalls: 1,
  },
  {
    name: 'a server that will hear no more',
    settled: 'error',
    isReason: (it) => it instanceof ModelError && it.closeCode === 1008 && !it.retryable,
    happen: (scene) => scene.session().close(1008, 'Enough.'),
    byServer: true,
  },
];

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

describe('a live run', () => {
  failOnUnhandled();

  const all = endings.flatMap((ending) =>
    [false, ...(ending.needsIdleReader ? [] : [true])].map((reads) => [ending.name, reads ? 'reads' : 'waits', ending, reads] as const),
  );
  test.each(all)('is ended by %s while its reader %s', async (_name, _what, ending, reads) => {
    const {settled, isReason, happen, shown = [], stored = [], llmCalls = 1, byServer = false} = ending;
    using clock = new OurClock();
    const called = heard((session) => void session.toolCall([{name: 'a', id: 'a'}]));
    await using scene = await Scene.start({sessions: [called], tools: ({service}) => [fetching(service, 'a')], ...ending}, clock);
    await scene.read(1);
    await scene.service.nextRequest();
    const reading = reads ? readOn(scene) : undefined;
    happen(scene);
    // Nobody has to read for that.
    expect((await scene.session().closed).early).toBe(!byServer);
    expect((await scene.service.requests[0]?.closed)?.early).toBe(true);
    await turns();
    expect(scene.queue.closed).toBe(true);

    const {lines, reason} = await (reading ?? readOn(scene));
    expect(lines).toEqual(shown);
    expect(isReason(reason)).toBe(true);
    await expectLeftAlone(
      scene,
      {settled, isReason},
      {
        moment: {
          connections: [byServer ? 'setup clientContent' : 'setup clientContent left'],
          service: [true],
          entered: [AFTER],
          stored: [GO, 'root: a({})', ...stored, `root: a=${STARTED}`],
          llmCalls,
        },
      },
    );
    await expectGoesOn(scene, {live: false});
  });

  test('stores the answer to its calls once more, where the store has failed to', async () => {
    using clock = new OurClock();
    await using scene = await Scene.start(
      {sessions: [heard((session) => void session.toolCall([{name: 'quick'}]))], tools: () => [quick]},
      clock,
    );
    const append = scene.store.appendEvent.bind(scene.store);
    scene.store.appendEvent = (request) => {
      if (!request.event.content?.parts?.some((part) => part.functionResponse)) return append(request);
      scene.store.appendEvent = append;
      return Promise.reject(BOOM);
    };
    expect(await readOn(scene)).toEqual({lines: ['root: quick({})'], reason: BOOM});
    await expectLeftAlone(
      scene,
      {settled: 'error', isReason: (it) => it === BOOM},
      {
        moment: {
          connections: ['setup clientContent left'],
          stored: [GO, 'root: quick({})', 'root: quick={"result":"ready"}'],
          llmCalls: 1,
        },
      },
    );
  });
});
