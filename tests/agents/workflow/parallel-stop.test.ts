import {describe, expect, test} from 'vitest';
import {BaseLlm, LlmAgent, RunCancelledError, RunTimeoutError, type BaseAgent, type LlmResponse} from 'sluice';
import {collect, deaf, functionCalls, type ScriptedStep} from 'sluice/testing';
import {ParallelAgent} from '../../../lib/agents/workflow/parallel-agent.ts';
import {expectNoListeners, idle} from '../../stories/kit.ts';
import {expectPaired, Gated, Own, speaker, stageOf, told, watchRejections} from './kit.ts';
import {begin, CANCELLED, createScene, expectStopped, stalled, streaming, type Scene} from './stop-scene.ts';

const parallel = (...subAgents: BaseAgent[]): ParallelAgent => new ParallelAgent({name: 'par', subAgents});

interface Stop {
  readonly stop: (scene: Scene) => unknown;
  /** What a pending `next()` comes to. */
  readonly next: unknown;
  readonly kind: string;
}

const DONE = {done: true, value: undefined};

const stops: Readonly<Record<string, Stop>> = {
  'abort()': {stop: ({controller}) => controller.abort('enough'), next: 'enough', kind: 'abort'},
  'return()': {stop: async ({run}) => expect(await run.return()).toEqual(DONE), next: DONE, kind: 'return'},
  'throw()': {stop: async ({run}) => run.throw('enough').catch(() => {}), next: 'enough', kind: 'abort'},
  'cancel()': {stop: ({it}) => it.runner.cancel({userId: 'u', sessionId: 's'}), next: new RunCancelledError(), kind: 'abort'},
  'close()': {stop: ({it}) => it.runner.close({timeoutMs: 1}), next: expect.objectContaining({code: 'RUNNER_CLOSED'}), kind: 'abort'},
};

describe('branches in the middle of a tool, a reply and an Event are stopped, and what they have done is stored, by', () => {
  for (const [name, {stop, next, kind}] of Object.entries(stops)) {
    test(`${name} while the reader is idle`, async () => {
      using watch = watchRejections();
      const scene = await createScene();
      await begin(scene);

      await stop(scene);

      expect(await scene.run.settled).toMatchObject({kind, abandoned: []});
      await expectStopped(scene);
      expect(watch.rejections).toEqual([]);
    });

    test(`${name} while a next() is pending`, async () => {
      using watch = watchRejections();
      const scene = await createScene();
      const {pending} = await begin(scene, true);

      await stop(scene);

      expect(await pending).toEqual(next);
      expect(await scene.run.settled).toMatchObject({kind, abandoned: []});
      await expectStopped(scene);
      expect(watch.rejections).toEqual([]);
    });
  }

  test('break', async () => {
    const scene = await createScene();
    await begin(scene);

    for await (const event of scene.run) if (told(event).includes('unread')) break;

    expect((await scene.run.settled).kind).toBe('return');
    await expectStopped(scene);
  });

  test('the run’s deadline', async () => {
    const scene = await createScene({timeoutMs: 300});
    await begin(scene);

    expect(await scene.run.settled).toMatchObject({kind: 'timeout', reason: expect.any(RunTimeoutError), abandoned: []});
    await expectStopped(scene);
  });
});

describe('a branch that fails', () => {
  /** Fails when it is told to. */
  function failing(reason: unknown): {readonly agent: Own; readonly fail: () => void} {
    const {promise, resolve} = Promise.withResolvers<void>();
    const agent = new Own('failing', async function* () {
      await promise;
      throw reason;
    });
    return {agent, fail: resolve};
  }

  test('stops the others; its error is the run’s, and what they have done is stored', async () => {
    using watch = watchRejections();
    const error = new TypeError('of its own');
    const {agent, fail} = failing(error);
    const [slow, stall] = [new Gated('slow'), stalled('Half')];
    const it = await stageOf(parallel(agent, speaker('a', [functionCalls({name: 'slow'})], [slow]), speaker('b', [stall.step])), streaming);
    const read = collect(it.run());
    await Promise.all([slow.started, stall.streamed]);
    fail();

    expect(await read).toMatchObject({error, outcome: {kind: 'error', abandoned: []}});
    expect((await it.stored()).map(told).toSorted()).toEqual([
      '(par.a) a: slow({})',
      `(par.a) a: slow=${CANCELLED}`,
      '(par.b) b: "Half" [stopped]',
      'user: "go"',
    ]);
    expect([slow.signal?.aborted, stall.signals[0]?.aborted, watch.rejections]).toEqual([true, true, []]);
  });

  test('first is the one that counts', async () => {
    using watch = watchRejections();
    const errors = [1, 2, 3].map((n) => new Error(`${n}`));
    const agents = errors.map(
      (error, n) =>
        new Own(`a${n}`, async function* () {
          for (let turn = 0; turn < 3 - n; turn++) await idle();
          throw error;
        }),
    );
    const {error, outcome} = await collect((await stageOf(parallel(...agents))).run());
    for (let turn = 0; turn < 4; turn++) await idle();

    expect([error, outcome.kind, watch.rejections]).toEqual([errors[2], 'error', []]);
  });

  test('is heard before Events that wait', async () => {
    const {agent, fail} = failing('failed');
    const own = new Own('own', async function* () {
      for (const word of ['1', '2', '3']) yield this.says(word);
    });
    const it = await stageOf(parallel(agent, own));
    const run = it.run();
    await run.next();
    fail();
    await idle();

    await expect(run.next()).rejects.toBe('failed');
    expect((await it.stored()).map(told)).toEqual(['user: "go"', '(par.own) own: "1"']);
  });

  test('can be caught by the agent around it, and the run goes on', async () => {
    const {agent, fail} = failing('failed');
    const slow = new Gated('slow');
    const around = new Own(
      'around',
      async function* (context) {
        try {
          yield* this.subAgents[0]?.runAsync(context) ?? [];
        } catch (error) {
          yield this.says(`caught: ${String(error)}`);
        }
      },
      [parallel(agent, speaker('a', [functionCalls({name: 'slow'})], [slow]))],
    );
    const it = await stageOf(around);
    const read = collect(it.run());
    await slow.started;
    fail();

    expect((await read).events.map(told)).toEqual(['(par.a) a: slow({})', 'around: "caught: failed"']);
    expect((await it.stored()).map(told).at(-1)).toBe(`(par.a) a: slow=${CANCELLED}`);
    expectPaired(await it.stored());
  });
});

describe('an agent that leaves a ParallelAgent early', () => {
  test('stops its branches at once, and keeps what they have done', async () => {
    const slow = new Gated('slow');
    const own = new Own('own', async function* () {
      for (const word of ['1', '2', '3']) yield this.says(word);
    });
    const around = new Own(
      'around',
      async function* (context) {
        for await (const event of this.subAgents[0]?.runAsync(context) ?? []) {
          yield event;
          if (!told(event).includes('3')) continue;
          await slow.started;
          break;
        }
        yield this.says(`told: ${slow.signal?.aborted}`);
      },
      [parallel(speaker('a', [functionCalls({name: 'slow'})], [slow]), own)],
    );
    const it = await stageOf(around);
    const run = it.run();

    await expect(collect(run)).resolves.toMatchObject({outcome: {kind: 'done', abandoned: []}});
    expectPaired(await it.stored());
    expect((await it.stored()).map(told)).toContain('around: "told: true"');
  });
});

describe('a branch that ignores a stop', () => {
  test('is left behind after the grace and named, and holds up none of the others', async () => {
    const late = Promise.withResolvers<ScriptedStep>();
    const slow = new Gated('slow');
    const stop = new AbortController();
    const it = await stageOf(parallel(speaker('a', [deaf(late.promise)]), speaker('b', [functionCalls({name: 'slow'})], [slow])), {
      abortGraceMs: 30,
    });
    const read = collect(it.run('go', {abortSignal: stop.signal}));
    await slow.started;
    stop.abort('enough');

    expect(await read).toMatchObject({error: 'enough', outcome: {kind: 'abort', abandoned: ['model a']}});
    expect(it.diagnostics.map(({code, name}) => [code, name])).toEqual([['WORK_ABANDONED', 'model a']]);
    late.resolve('too late');
    await idle();
    expect((await it.stored()).map(told)).toEqual(['user: "go"', '(par.b) b: slow({})', `(par.b) b: slow=${CANCELLED}`]);
    expectNoListeners(stop.signal);
  });

  test('at its end is named once, where its model does not let go', async () => {
    const asked = Promise.withResolvers<void>();
    const stubborn = new (class extends BaseLlm {
      generateContentAsync(_: unknown, __?: boolean, abortSignal?: AbortSignal): AsyncGenerator<LlmResponse, void, undefined> {
        asked.resolve();
        const next = (): Promise<never> =>
          new Promise((_, reject) => abortSignal?.addEventListener('abort', () => reject(abortSignal.reason)));
        const never = (): Promise<never> => new Promise(() => {});
        return {next, return: never, throw: never, [Symbol.asyncIterator]: () => ({next, return: never})} as never;
      }
    })({model: 'stubborn'});
    const stop = new AbortController();
    const it = await stageOf(parallel(new LlmAgent({name: 'a', model: stubborn}), speaker('b', ['B'])), {abortGraceMs: 30});
    const read = collect(it.run('go', {abortSignal: stop.signal}));
    await asked.promise;
    stop.abort('enough');

    expect((await read).outcome).toMatchObject({kind: 'abort', abandoned: ['model stubborn']});
  });

  test('holds no stopped sibling’s tool in its place', async () => {
    const slow = new Gated('slow', true);
    const stop = new AbortController();
    const agents = ['a', 'b'].map((name) => speaker(name, [functionCalls({name: 'slow'})], [slow]));
    const it = await stageOf(parallel(...agents), {abortGraceMs: 30, maxConcurrentTools: 1});
    const read = collect(it.run('go', {abortSignal: stop.signal}));
    await slow.started;
    await idle();
    stop.abort('enough');

    expect((await read).outcome).toMatchObject({kind: 'abort', abandoned: ['slow']});
    slow.finish();
    expect((await it.stored()).map(told).toSorted()).toEqual([
      '(par.a) a: slow({})',
      `(par.a) a: slow=${CANCELLED}`,
      '(par.b) b: slow({})',
      '(par.b) b: slow={"error":"cancelled","started":false}',
      'user: "go"',
    ]);
  });
});

describe('a branch that is over', () => {
  test('is let go of: a later stop of the run is none of its business', async () => {
    let signal: AbortSignal | undefined;
    const own = new Own('own', async function* (context) {
      signal = context.abortSignal;
      yield this.says('done');
    });
    const slow = new Gated('slow');
    const stop = new AbortController();
    const it = await stageOf(parallel(own, speaker('a', [functionCalls({name: 'slow'})], [slow])));
    const read = collect(it.run('go', {abortSignal: stop.signal}));
    await slow.started;
    await idle();
    stop.abort('enough');

    expect([(await read).error, signal?.aborted, slow.signal?.aborted]).toEqual(['enough', false, true]);
  });
});
