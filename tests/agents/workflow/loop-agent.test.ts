import {describe, expect, test} from 'vitest';
import {InvalidOptionError, LlmCallsLimitExceededError, RunTimeoutError} from 'sluice';
import {collect, functionCalls, text, type ScriptedStep} from 'sluice/testing';
import {LoopAgent} from '../../../lib/agents/workflow/loop-agent.ts';
import {ParallelAgent} from '../../../lib/agents/workflow/parallel-agent.ts';
import {SequentialAgent} from '../../../lib/agents/workflow/sequential-agent.ts';
import {expectNoListeners, idle} from '../../stories/kit.ts';
import {ask, leave, Own, speaker, stageOf, told, tool} from './kit.ts';

const exit: ScriptedStep = functionCalls({name: 'leave'});

describe('a LoopAgent', () => {
  test('runs its agents over and over, maxIterations times', async () => {
    const it = await stageOf(
      new LoopAgent({name: 'loop', maxIterations: 2, subAgents: [speaker('a', ['A1', 'A2']), speaker('b', ['B1', 'B2'])]}),
    );

    expect((await collect(it.run())).events.map(told)).toEqual(['a: "A1"', 'b: "B1"', 'a: "A2"', 'b: "B2"']);
  });

  test('ends when an agent escalates: that one finishes its turn, and those after it are not run', async () => {
    const escalate = tool('escalate', (_, {actions}) => void (actions.escalate = true));
    const critic = speaker('critic', ['Not yet.', functionCalls({name: 'escalate'}), 'Good.'], [escalate]);
    const it = await stageOf(new LoopAgent({name: 'loop', subAgents: [speaker('a', ['A1', 'A2']), critic, speaker('c', ['C1'])]}));

    expect((await collect(it.run())).events.map(told)).toEqual([
      'a: "A1"',
      'critic: "Not yet."',
      'c: "C1"',
      'a: "A2"',
      'critic: escalate({})',
      'critic: escalate={"result":null} [escalates]',
      'critic: "Good."',
    ]);
  });

  test('is left alone: the loop around it goes on', async () => {
    const inner = new LoopAgent({name: 'inner', subAgents: [speaker('a', ['A1', exit, 'A2', exit], [leave()])]});
    const it = await stageOf(new LoopAgent({name: 'outer', maxIterations: 2, subAgents: [inner, speaker('b', ['B1', 'B2'])]}));

    expect((await collect(it.run())).events.map(told)).toEqual([
      'a: "A1"',
      'a: leave({})',
      'a: leave={"left":true} [escalates]',
      'b: "B1"',
      'a: "A2"',
      'a: leave({})',
      'a: leave={"left":true} [escalates]',
      'b: "B2"',
    ]);
  });

  test('is left by an agent deep below it', async () => {
    const parallel = new ParallelAgent({name: 'par', subAgents: [speaker('a', [exit], [leave()])]});
    const loop = new LoopAgent({name: 'loop', subAgents: [new SequentialAgent({name: 'seq', subAgents: [parallel, speaker('b', ['B'])]})]});

    expect((await collect((await stageOf(loop)).run())).events.map(told)).toEqual([
      '(par.a) a: leave({})',
      '(par.a) a: leave={"left":true} [escalates]',
      'b: "B"',
    ]);
  });

  test('ends where an agent waits, and says in which iteration it does', async () => {
    const loop = new LoopAgent({
      name: 'loop',
      subAgents: [speaker('a', ['A1', functionCalls({name: 'ask'})], [ask()]), speaker('b', ['B1'])],
    });
    const {events, outcome} = await collect((await stageOf(loop)).run());

    expect(events.map(told)).toEqual(['a: "A1"', 'b: "B1"', 'a: ask({}) [waits:1]', 'a: ask={"status":"pending"} [waits:1]']);
    expect(events.at(-1)?.customMetadata).toEqual({loopIterations: {loop: 2}});
    expect(outcome.kind).toBe('waiting');
  });

  test('ends where a reply cannot be used', async () => {
    const loop = new LoopAgent({name: 'loop', subAgents: [speaker('a', ['A1', {finishReason: 'SAFETY'}])]});
    const {events, outcome} = await collect((await stageOf(loop)).run());

    expect(events.map(told)).toEqual(['a: "A1"', 'a:  [error:SAFETY]']);
    expect(outcome).toMatchObject({kind: 'done', errorCode: 'SAFETY'});
  });

  test('without a limit of its own is bounded by those of the run', async () => {
    const endless = (): LoopAgent =>
      new LoopAgent({
        name: 'loop',
        subAgents: [
          speaker(
            'a',
            Array.from({length: 60}, () => text('A')),
          ),
        ],
      });

    const limited = await collect((await stageOf(endless(), {maxLlmCalls: 7})).run());
    expect([limited.events.length, limited.outcome.kind, limited.error]).toEqual([7, 'limit', expect.any(LlmCallsLimitExceededError)]);
    const byDefault = await collect((await stageOf(endless())).run());
    expect([byDefault.events.length, byDefault.outcome.kind]).toEqual([50, 'limit']);
  });

  const silent = (count: () => void): Own =>
    new Own('silent', async function* () {
      count();
    });

  test('of agents that say nothing hears a stop', async () => {
    let iterations = 0;
    const stop = new AbortController();
    const it = await stageOf(new LoopAgent({name: 'loop', subAgents: [silent(() => void iterations++)]}));
    const timer = setTimeout(() => stop.abort('enough'), 20);

    const {error, outcome} = await collect(it.run('go', {abortSignal: stop.signal}));
    clearTimeout(timer);

    expect([error, outcome.kind]).toEqual(['enough', 'abort']);
    const atEnd = iterations;
    await idle();
    expect(iterations).toBe(atEnd);
    expectNoListeners(stop.signal);
  });

  test('of agents that say nothing hears the run’s deadline', async () => {
    const it = await stageOf(new LoopAgent({name: 'loop', subAgents: [silent(() => {})]}), {timeoutMs: 20});

    expect(await collect(it.run())).toMatchObject({error: expect.any(RunTimeoutError), outcome: {kind: 'timeout'}});
  });

  test('refuses a number of iterations that it cannot do', () => {
    const refusal = (maxIterations: unknown): string => {
      try {
        return String(new LoopAgent({name: 'loop', maxIterations: maxIterations as number}).maxIterations);
      } catch (error) {
        expect(error).toBeInstanceOf(InvalidOptionError);
        return (error as Error).message;
      }
    };

    expect([undefined, 1, 3, Infinity].map(refusal)).toEqual(['Infinity', '1', '3', 'Infinity']);
    expect([0, -1, 1.5, NaN, '3', null].map(refusal)).toMatchInlineSnapshot(`
      [
        "Expected \`loop.maxIterations\` to be a whole number of at least 1, or Infinity, got 0 (number)",
        "Expected \`loop.maxIterations\` to be a whole number of at least 1, or Infinity, got -1 (number)",
        "Expected \`loop.maxIterations\` to be a whole number of at least 1, or Infinity, got 1.5 (number)",
        "Expected \`loop.maxIterations\` to be a whole number of at least 1, or Infinity, got NaN (number)",
        "Expected \`loop.maxIterations\` to be a whole number of at least 1, or Infinity, got "3" (string)",
        "Expected \`loop.maxIterations\` to be a whole number of at least 1, or Infinity, got null",
      ]
    `);
  });
});
