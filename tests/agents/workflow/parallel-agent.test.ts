import {describe, expect, test} from 'vitest';
import {InvalidOptionError, LlmAgent, StreamingMode, stringifyContent, type BaseAgent} from 'sluice';
import {collect, deltas, functionCalls, ScriptedLlm, text, type ScriptedStep} from 'sluice/testing';
import {createEventActions} from '../../../lib/events/event-actions.ts';
import {LoopAgent} from '../../../lib/agents/workflow/loop-agent.ts';
import {ParallelAgent} from '../../../lib/agents/workflow/parallel-agent.ts';
import {SequentialAgent} from '../../../lib/agents/workflow/sequential-agent.ts';
import {idle} from '../../stories/kit.ts';
import {ask, expectPaired, Gated, leave, Own, speaker, stageOf, told, tool} from './kit.ts';

const parallel = (...subAgents: BaseAgent[]): ParallelAgent => new ParallelAgent({name: 'par', subAgents});

/** A model step that is answered when the test says so. */
function gate(): {readonly step: Promise<ScriptedStep>; readonly open: (step: ScriptedStep) => void} {
  const {promise, resolve} = Promise.withResolvers<ScriptedStep>();
  return {step: promise, open: resolve};
}

describe('a ParallelAgent', () => {
  test('runs its agents at the same time, and gives their Events as they come', async () => {
    const [first, second] = [gate(), gate()];
    const it = await stageOf(parallel(speaker('a', [first.step]), speaker('b', [second.step, 'B2'], [tool('look')])));
    const run = it.run();
    const next = run.next();
    second.open(functionCalls({name: 'look'}));
    const events = [(await next).value, (await run.next()).value, (await run.next()).value];
    first.open('A1');
    for await (const event of run) events.push(event);

    expect(events.map((event) => event && told(event))).toEqual([
      '(par.b) b: look({})',
      '(par.b) b: look={"name":"look"}',
      '(par.b) b: "B2"',
      '(par.a) a: "A1"',
    ]);
    expect(await run.settled).toMatchObject({kind: 'done', llmCalls: 3, abandoned: [], lastEventId: events[3]?.id});
    expect((await it.stored()).map(told)).toEqual(['user: "go"', ...events.map((event) => event && told(event))]);
  });

  test('takes turns among agents that are ready at the same time', async () => {
    const chatty = (name: string): Own =>
      new Own(name, async function* () {
        for (const word of ['1', '2', '3']) yield this.says(`${name}${word}`);
      });
    const {events} = await collect((await stageOf(parallel(chatty('a'), chatty('b'), chatty('c')))).run());

    expect(events.map(stringifyContent)).toEqual(['a1', 'b1', 'c1', 'a2', 'b2', 'c2', 'a3', 'b3', 'c3']);
  });

  test('shows what its agents stream, piece by piece', async () => {
    const it = await stageOf(parallel(speaker('a', [deltas('A', '1')]), speaker('b', [deltas('B', '1')])), {
      streamingMode: StreamingMode.SSE,
    });
    const {events} = await collect(it.run());

    for (const name of ['a', 'b']) {
      const own = events.filter(({author}) => author === name);
      expect(own.map(({partial, branch}) => [partial ?? false, branch])).toEqual(
        [true, true, false].map((partial) => [partial, `par.${name}`]),
      );
      expect(new Set(own.map(({id}) => id)).size).toBe(1);
    }
  });

  test('keeps its agents apart: none sees what another says, and who comes after them sees it all', async () => {
    const [a, b, c] = [speaker('a', [functionCalls({name: 'look'}), 'A2'], [tool('look')]), speaker('b', ['B1']), speaker('c', ['C1'])];
    // A name that begins like another’s.
    const ab = speaker('ab', [functionCalls({name: 'look'}), 'AB2'], [tool('look')]);
    const before = speaker('before', ['Before.']);
    const it = await stageOf(new SequentialAgent({name: 'seq', subAgents: [before, parallel(a, ab, b), c]}));
    await collect(it.run());

    expect(a.model.requests[1]?.contents.map(({parts}) => parts?.map((part) => part.text ?? Object.keys(part)[0]))).toEqual([
      ['go'],
      ['[before] said: Before.'],
      ['functionCall'],
      ['functionResponse'],
    ]);
    const seen = JSON.stringify(c.model.requests[0]?.contents);
    for (const words of ['Before.', 'A2', 'AB2', 'B1']) expect(seen).toContain(words);
    expectPaired(await it.stored());
  });

  test('names the branches of branches by their path', async () => {
    const inner = new ParallelAgent({name: 'inner', subAgents: [speaker('a', ['A'])]});
    const it = await stageOf(parallel(new SequentialAgent({name: 'seq', subAgents: [inner, speaker('b', ['B'])]})));

    expect((await collect(it.run())).events.map(told)).toEqual(['(par.seq.inner.a) a: "A"', '(par.seq) b: "B"']);
  });

  test('gives an Event without a branch that of the agent that it comes from', async () => {
    const own = new Own('own', async function* (context) {
      yield this.says('mine');
      yield this.says('with a branch', {branch: `${context.branch}.deeper`, invocationId: context.invocationId});
    });
    const it = await stageOf(parallel(own));
    const run = it.run();

    expect((await collect(run)).events.map(({branch, invocationId}) => [branch, invocationId])).toEqual([
      ['par.own', run.invocationId],
      ['par.own.deeper', run.invocationId],
    ]);
  });

  test('runs at most maxConcurrentAgents at a time, in order', async () => {
    const running = new Set<string>();
    const most: number[] = [];
    const own = (name: string): Own =>
      new Own(name, async function* () {
        running.add(name);
        most.push(running.size);
        await idle();
        yield this.says(name);
        running.delete(name);
      });
    const agents = ['a', 'b', 'c', 'd', 'e'].map(own);
    const it = await stageOf(new ParallelAgent({name: 'par', maxConcurrentAgents: 2, subAgents: agents}));

    expect((await collect(it.run())).events.map(stringifyContent)).toEqual(['a', 'b', 'c', 'd', 'e']);
    expect(Math.max(...most)).toBe(2);
  });

  test('refuses a number of agents that it cannot run', () => {
    for (const maxConcurrentAgents of [0, -1, 1.5, NaN, '2', null]) {
      expect(() => new ParallelAgent({name: 'par', maxConcurrentAgents: maxConcurrentAgents as number})).toThrow(InvalidOptionError);
    }
    expect(
      [undefined, 3, Infinity].map((maxConcurrentAgents) => new ParallelAgent({name: 'par', maxConcurrentAgents}).maxConcurrentAgents),
    ).toEqual([Infinity, 3, Infinity]);
  });

  test('holds its agents together to the limits of the run', async () => {
    const bodies = new Set<string>();
    let most = 0;
    const busy = tool('busy', async (_, {functionCallId = ''}) => {
      bodies.add(functionCallId);
      most = Math.max(most, bodies.size);
      await idle();
      bodies.delete(functionCallId);
    });
    const agents = ['a', 'b', 'c'].map((name) => speaker(name, [functionCalls({name: 'busy'}, {name: 'busy'}), 'Done.'], [busy]));
    const it = await stageOf(parallel(...agents), {maxConcurrentTools: 2});
    expect([(await collect(it.run())).outcome.kind, most]).toEqual(['done', 2]);

    const limited = await collect(
      (await stageOf(parallel(speaker('a', ['A']), speaker('b', ['B']), speaker('c', ['C'])), {maxLlmCalls: 2})).run(),
    );
    expect(limited.outcome).toMatchObject({kind: 'limit', llmCalls: 2});
  });

  test('lets no agent run ahead of a slow reader by more than one Event', async () => {
    const made: string[] = [];
    const own = (name: string): Own =>
      new Own(name, async function* () {
        for (const word of ['1', '2', '3']) {
          made.push(`${name}${word}`);
          yield this.says(`${name}${word}`);
        }
      });
    const run = (await stageOf(parallel(own('a'), own('b')))).run();
    const steps: string[] = [];
    for await (const event of run) {
      await idle();
      steps.push(`${stringifyContent(event)}: ${made.splice(0).join(' ')}`);
    }

    expect(steps).toEqual(['a1: a1 b1', 'b1: a2', 'a2: b2', 'b2: a3', 'a3: b3', 'b3: ']);
  });
});

describe('state that agents write beside each other', () => {
  const writer = (name: string, delta: Record<string, unknown>): Own =>
    new Own(name, async function* () {
      yield this.says(name, {actions: createEventActions({stateDelta: delta})});
    });

  test('is kept; of two values for one key the later stored wins, and a diagnostic names both agents', async () => {
    const it = await stageOf(parallel(writer('a', {mine: 'a', both: 1, same: [1]}), writer('b', {theirs: 'b', both: 2, same: [1]})));
    await collect(it.run());

    expect(await it.state()).toEqual({mine: 'a', theirs: 'b', both: 2, same: [1]});
    expect(it.diagnostics).toEqual([
      {
        code: 'STATE_CONFLICT',
        name: 'both',
        agents: ['a', 'b'],
        message:
          '`a` and `b` ran beside each other and wrote different values to the state key `both`; what was stored later, that of `b`, won',
      },
    ]);
  });

  test('is no conflict where one agent writes again, or one comes after the other', async () => {
    const twice = new Own(
      'twice',
      async function* (context) {
        for (const agent of this.subAgents) yield* agent.runAsync(context);
      },
      [writer('a', {key: 1}), writer('b', {key: 2})],
    );
    const it = await stageOf(
      new SequentialAgent({name: 'seq', subAgents: [parallel(twice, writer('c', {other: 1})), writer('d', {key: 3})]}),
    );
    await collect(it.run());

    expect([await it.state(), it.diagnostics]).toEqual([{key: 3, other: 1}, []]);
  });
});

describe('an agent of a ParallelAgent that escalates', () => {
  test('finishes its turn; the others are stopped and their calls answered, and the run goes on', async () => {
    const slow = new Gated('slow');
    const b = speaker('b', [functionCalls({name: 'slow'}), 'never'], [slow]);
    const a = speaker(
      'a',
      [
        async function* () {
          await slow.started;
          yield* [functionCalls({name: 'escalate'})];
        },
        'A2',
      ],
      [tool('escalate', (_, {actions}) => void (actions.escalate = true))],
    );
    const it = await stageOf(new SequentialAgent({name: 'seq', subAgents: [parallel(a, b), speaker('c', ['C1'])]}));

    const {events, outcome} = await collect(it.run());

    expect(events.map(told)).toEqual([
      '(par.b) b: slow({})',
      '(par.a) a: escalate({})',
      '(par.a) a: escalate={"result":null} [escalates]',
      '(par.a) a: "A2"',
      '(par.b) b: slow={"error":"cancelled; it may have taken effect","started":true}',
      'c: "C1"',
    ]);
    expect((await it.stored()).map(told)).toEqual(['user: "go"', ...events.map(told)]);
    expect([slow.signal?.aborted, outcome.kind, outcome.abandoned, b.model.calls]).toEqual([true, 'done', [], 1]);
  });

  test('takes along what the others had made, and text that they had streamed', async () => {
    const b = speaker('b', [
      async function* (_: unknown, {abortSignal}: {abortSignal: AbortSignal | undefined}) {
        yield* deltas('Half').slice(0, 1);
        await new Promise((_, reject) => abortSignal?.addEventListener('abort', () => reject(abortSignal.reason)));
      },
    ]);
    const [heard, enough] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const a = new Own('a', async function* () {
      await enough.promise;
      yield this.says('Enough.', {actions: createEventActions({escalate: true})});
    });
    const c = new Own('c', async function* () {
      yield this.says('c1');
      await heard.promise;
      yield* [this.says('c2'), this.says('never')];
    });
    const it = await stageOf(parallel(a, b, c), {streamingMode: StreamingMode.SSE});
    const run = it.run();
    const events = [(await run.next()).value, (await run.next()).value].filter((event) => event !== undefined);
    enough.resolve();
    await idle();
    heard.resolve();
    // Now `c` has made its second Event, and `a` has its first.
    await idle();
    for await (const event of run) events.push(event);

    expect(events.map(told)).toEqual([
      '(par.c) c: "c1"',
      '(par.b) b: "Half" [partial]',
      '(par.a) a: "Enough." [escalates]',
      '(par.c) c: "c2"',
      '(par.b) b: "Half" [stopped]',
    ]);
    expect((await it.stored()).map(told)).toEqual(['user: "go"', ...events.filter(({partial}) => !partial).map(told)]);
  });

  test('runs the callbacks of the others once', async () => {
    const seen: string[] = [];
    const slow = new Gated('slow');
    const b = speaker('b', [functionCalls({name: 'slow'})], [slow], {
      afterAgentCallback: () => (seen.push('after b'), {role: 'model', parts: [{text: 'b is over'}]}),
    });
    const a = new Own('a', async function* () {
      await slow.started;
      yield this.says('Enough.', {actions: createEventActions({escalate: true})});
    });
    const {events} = await collect((await stageOf(parallel(a, b))).run());

    expect(events.map(told)).toEqual([
      '(par.b) b: slow({})',
      '(par.a) a: "Enough." [escalates]',
      '(par.b) b: slow={"error":"cancelled; it may have taken effect","started":true}',
      '(par.b) b: "b is over"',
    ]);
    expect(seen).toEqual(['after b']);
  });

  test('out of a loop leaves that loop, and not the agents beside it', async () => {
    const loop = new LoopAgent({name: 'loop', subAgents: [speaker('a', [functionCalls({name: 'leave'})], [leave()])]});
    const {events} = await collect(
      (await stageOf(parallel(loop, speaker('b', [functionCalls({name: 'look'}), 'B2'], [tool('look')])))).run(),
    );

    expect(events.map(stringifyContent)).toContain('B2');
  });

  test('leaves behind one that ignores it, after the grace, and the run goes on', async () => {
    const started = Promise.withResolvers<void>();
    const late = Promise.withResolvers<void>();
    const b = new Own('b', async function* () {
      started.resolve();
      await late.promise;
      yield this.says('too late');
    });
    const a = new Own('a', async function* () {
      await started.promise;
      yield this.says('Enough.', {actions: createEventActions({escalate: true})});
    });
    const it = await stageOf(new SequentialAgent({name: 'seq', subAgents: [parallel(a, b), speaker('c', ['C'])]}), {abortGraceMs: 20});

    const {events, outcome} = await collect(it.run());
    late.resolve();
    await idle();

    expect(events.map(told)).toEqual(['(par.a) a: "Enough." [escalates]', 'c: "C"']);
    expect([outcome.kind, outcome.abandoned]).toEqual(['done', ['agent b']]);
    expect(it.diagnostics.map(({code, name}) => [code, name])).toEqual([['WORK_ABANDONED', 'agent b']]);
    expect((await it.stored()).map(told)).toEqual(['user: "go"', ...events.map(told)]);
  });
});

describe('an agent of a ParallelAgent that waits', () => {
  test('lets the others finish; the run waits, and its last Event names the call', async () => {
    const slow = gate();
    const c = speaker('c', ['C']);
    const b = speaker('b', [slow.step]);
    const a = speaker('a', [functionCalls({name: 'ask', id: 'x'})], [ask()]);
    const it = await stageOf(new SequentialAgent({name: 'seq', subAgents: [parallel(a, b), c]}));
    const events = [];
    const run = it.run();
    for await (const event of run) {
      events.push(event);
      if (events.length === 2) slow.open('B');
    }

    expect(events.map(told)).toEqual([
      '(par.a) a: ask({}) [waits:1]',
      '(par.a) a: ask={"status":"pending"} [waits:1]',
      '(par.b) b: "B"',
      'par:  [waits:1]',
    ]);
    expect(events.at(-1)?.longRunningToolIds).toEqual(['x']);
    expect([(await run.settled).kind, c.model.calls]).toEqual(['waiting', 0]);
  });

  test('says no more where its own Event is the last', async () => {
    const a = speaker('a', [functionCalls({name: 'ask', id: 'x'})], [ask()]);
    const {events, outcome} = await collect((await stageOf(parallel(a))).run());

    expect([events.length, outcome.kind]).toEqual([2, 'waiting']);
  });

  test('is named with all others that wait', async () => {
    const agents = ['a', 'b'].map((name) => speaker(name, [functionCalls({name: 'ask', id: `of ${name}`})], [ask()]));
    const {events, outcome} = await collect((await stageOf(parallel(...agents))).run());

    expect(events.at(-1)?.longRunningToolIds).toEqual(['of a', 'of b']);
    expect(outcome.kind).toBe('waiting');
  });
});

describe('a reply that cannot be used', () => {
  test('is told in the outcome, though another branch speaks after it', async () => {
    const slow = gate();
    const cut = {...text('cut'), finishReason: 'MAX_TOKENS'} as const;
    const it = await stageOf(parallel(speaker('a', [cut]), speaker('ab', [slow.step])));
    const run = it.run();
    for await (const event of run) if (event.author === 'a') slow.open('B');
    expect(await run.settled).toMatchObject({kind: 'done', errorCode: 'MAX_TOKENS'});
  });

  test('is made up for by what the same branch says later, and by what is said outside of all branches', async () => {
    const cut = {...text('cut'), finishReason: 'MAX_TOKENS'} as const;
    const retried = new Own('a', async function* () {
      yield this.says('cut', {errorCode: 'MAX_TOKENS'});
      yield this.says('whole');
    });
    const inBranch = (await stageOf(parallel(retried))).run();
    await collect(inBranch);
    expect((await inBranch.settled).errorCode).toBeUndefined();
    const outside = new Own('root', async function* (ctx) {
      for await (const event of parallel(speaker('a', [cut])).runAsync(ctx)) yield event;
      yield this.says('whole');
    });
    const {outcome} = await collect((await stageOf(outside)).run());
    expect(outcome.errorCode).toBeUndefined();
  });

  test('in one branch lets the others finish, and ends the sequence around them', async () => {
    const d = speaker('d', ['D']);
    const agents = [speaker('a', [{finishReason: 'SAFETY'}]), speaker('b', [functionCalls({name: 'look'}), 'B2'], [tool('look')])];
    const {events} = await collect((await stageOf(new SequentialAgent({name: 'seq', subAgents: [parallel(...agents), d]}))).run());

    expect(events.map(stringifyContent)).toContain('B2');
    expect(d.model.calls).toBe(0);
  });

  test('does not end the sequence where what comes after it in the same agent makes up for it', async () => {
    const fallback = new Own(
      'fallback',
      async function* (context) {
        for (const agent of this.subAgents) yield* agent.runAsync(context);
      },
      [parallel(speaker('a', [{finishReason: 'SAFETY'}])), new LlmAgent({name: 'b', model: new ScriptedLlm({steps: ['Instead.']})})],
    );
    const {events} = await collect((await stageOf(new SequentialAgent({name: 'seq', subAgents: [fallback, speaker('c', ['C'])]}))).run());

    expect(events.map(told)).toEqual(['(par.a) a:  [error:SAFETY]', 'b: "Instead."', 'c: "C"']);
  });
});
