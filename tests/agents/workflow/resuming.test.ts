// A run that brings an answer goes on where the workflow had stopped.
import {describe, expect, test} from 'vitest';
import {InMemorySessionService, Runner, type BaseAgent, type Event, type Part} from 'sluice';
import {collect, functionCalls, type ScriptedStep} from 'sluice/testing';
import {LoopAgent} from '../../../lib/agents/workflow/loop-agent.ts';
import {ParallelAgent} from '../../../lib/agents/workflow/parallel-agent.ts';
import {SequentialAgent} from '../../../lib/agents/workflow/sequential-agent.ts';
import {ask, leave, Own, speaker, told, tool} from './kit.ts';

const asks = (id: string): ScriptedStep => functionCalls({name: 'ask', id});
const pending = '{"status":"pending"}';

/** Each run has a process of its own: only the session is the same. */
class Desk {
  readonly #service = new InMemorySessionService();

  /** @param agent - made anew for each run, with what its models then say */
  async run(
    agent: BaseAgent,
    ...parts: readonly (string | Record<string, unknown>)[]
  ): Promise<{said: string[]; kind: string; waits: string[] | undefined; events: Event[]}> {
    const runner = new Runner({appName: 'app', agent, sessionService: this.#service, autoCreateSession: true});
    const newMessage = {
      role: 'user',
      parts: parts.map((part): Part => (typeof part === 'string' ? {text: part} : {functionResponse: part})),
    };
    const {events, outcome, ...rest} = await collect(runner.runAsync({userId: 'u', sessionId: 's', newMessage}));
    if ('error' in rest) throw rest.error;
    return {said: events.map(told), kind: outcome.kind, waits: events.at(-1)?.longRunningToolIds, events};
  }
}

const answer = (id: string): Record<string, unknown> => ({id, name: 'ask', response: {ok: true}});

describe('a sequence', () => {
  const sequence = (a: ScriptedStep[], b: ScriptedStep[], c: ScriptedStep[]): SequentialAgent =>
    new SequentialAgent({name: 'seq', subAgents: [speaker('a', a), speaker('b', b, [ask()]), speaker('c', c)]});

  test('goes on with the agent that asked, and then with those after it', async () => {
    const desk = new Desk();
    const first = await desk.run(sequence(['A1'], [asks('x')], []), 'go');
    expect([first.said, first.kind]).toEqual([['a: "A1"', 'b: ask({}) [waits:1]', `b: ask=${pending} [waits:1]`], 'waiting']);

    const second = await desk.run(sequence([], ['B2'], ['C1']), answer('x'));
    expect([second.said, second.kind]).toEqual([['b: "B2"', 'c: "C1"'], 'done']);

    const third = await desk.run(sequence(['A2'], ['B3'], ['C2']), 'again');
    expect(third.said).toEqual(['a: "A2"', 'b: "B3"', 'c: "C2"']);
  });

  test('waits again where the agent asks again', async () => {
    const desk = new Desk();
    await desk.run(sequence(['A1'], [asks('x')], []), 'go');
    const second = await desk.run(sequence([], [asks('y')], []), answer('x'));
    expect([second.kind, second.waits]).toEqual(['waiting', ['y']]);

    expect((await desk.run(sequence([], ['B3'], ['C1']), answer('y'))).said).toEqual(['b: "B3"', 'c: "C1"']);
  });

  test('begins anew where the user speaks instead of answering, and still takes the answer', async () => {
    const desk = new Desk();
    await desk.run(sequence(['A1'], [asks('x')], []), 'go');
    expect((await desk.run(sequence(['A2'], ['B2'], ['C1']), 'never mind')).said).toEqual(['a: "A2"', 'b: "B2"', 'c: "C1"']);
    expect((await desk.run(sequence([], ['B3'], ['C2']), answer('x'))).said).toEqual(['b: "B3"', 'c: "C2"']);
  });

  test('goes on within the workflows between it and the agent that asked', async () => {
    const desk = new Desk();
    const nested = (a: ScriptedStep[], b: ScriptedStep[], c: ScriptedStep[], d: ScriptedStep[]): SequentialAgent => {
      const inner = new SequentialAgent({name: 'inner', subAgents: [speaker('a', a, [ask()]), speaker('b', b)]});
      return new SequentialAgent({name: 'outer', subAgents: [speaker('c', c), inner, speaker('d', d)]});
    };
    await desk.run(nested([asks('x')], [], ['C1'], []), 'go');
    expect((await desk.run(nested(['A2'], ['B1'], [], ['D1']), answer('x'))).said).toEqual(['a: "A2"', 'b: "B1"', 'd: "D1"']);
  });

  test('goes on with the agent that asked where one of the user’s own stands between', async () => {
    const desk = new Desk();
    const around = (a: ScriptedStep[], b: ScriptedStep[]): SequentialAgent => {
      const own = new Own(
        'own',
        async function* (context) {
          yield this.says('Before.');
          for (const agent of this.subAgents) yield* agent.runAsync(context);
          yield this.says('After.');
        },
        [speaker('a', a, [ask()])],
      );
      return new SequentialAgent({name: 'seq', subAgents: [own, speaker('b', b)]});
    };
    const first = await desk.run(around([asks('x')], []), 'go');
    expect(first.said.at(-1)).toBe('seq:  [waits:1]');
    expect((await desk.run(around(['A2'], ['B1']), answer('x'))).said).toEqual(['a: "A2"', 'b: "B1"']);
  });
});

describe('a loop', () => {
  const loop = (a: ScriptedStep[], b: ScriptedStep[], maxIterations?: number): LoopAgent =>
    new LoopAgent({name: 'loop', maxIterations, subAgents: [speaker('a', a), speaker('b', b, [ask(), leave()])]});

  test('goes on in the iteration in which an agent asked, and counts on', async () => {
    const desk = new Desk();
    await desk.run(loop(['A1', 'A2'], ['B1', asks('x')], 3), 'go');
    const second = await desk.run(loop(['A3'], ['B2', 'B3'], 3), answer('x'));
    expect([second.said, second.kind]).toEqual([['b: "B2"', 'a: "A3"', 'b: "B3"'], 'done']);
  });

  test('that asks in every iteration ends after maxIterations all the same', async () => {
    const desk = new Desk();
    await desk.run(loop(['A1'], [asks('x1')], 2), 'go');
    const second = await desk.run(loop(['A2'], ['B1', asks('x2')], 2), answer('x1'));
    expect([second.said.slice(0, 2), second.kind]).toEqual([['b: "B1"', 'a: "A2"'], 'waiting']);
    const third = await desk.run(loop([], ['B2'], 2), answer('x2'));
    expect([third.said, third.kind]).toEqual([['b: "B2"'], 'done']);
  });

  test('within a loop counts its own iterations', async () => {
    const desk = new Desk();
    const nested = (a: ScriptedStep[]): LoopAgent =>
      new LoopAgent({
        name: 'outer',
        maxIterations: 2,
        subAgents: [new LoopAgent({name: 'inner', maxIterations: 2, subAgents: [speaker('a', a, [ask()])]})],
      });
    const first = await desk.run(nested(['A1', 'A2', 'A3', asks('x')]), 'go');
    expect(first.events.at(-1)?.customMetadata).toEqual({loopIterations: {inner: 2, outer: 2}});
    expect((await desk.run(nested(['A4']), answer('x'))).said).toEqual(['a: "A4"']);
  });

  test('is left by an escalation after the answer', async () => {
    const desk = new Desk();
    await desk.run(loop(['A1'], [asks('x')]), 'go');
    expect((await desk.run(loop([], [functionCalls({name: 'leave'})]), answer('x'))).said).toEqual([
      'b: leave({})',
      'b: leave={"left":true} [escalates]',
    ]);
  });

  test('runs a workflow below it anew in the next iteration', async () => {
    const desk = new Desk();
    const of = (a: ScriptedStep[], b: ScriptedStep[]): LoopAgent =>
      new LoopAgent({
        name: 'loop',
        maxIterations: 2,
        subAgents: [new SequentialAgent({name: 'seq', subAgents: [speaker('a', a), speaker('b', b, [ask()])]})],
      });
    await desk.run(of(['A1'], [asks('x')]), 'go');
    expect((await desk.run(of(['A2'], ['B1', 'B2']), answer('x'))).said).toEqual(['b: "B1"', 'a: "A2"', 'b: "B2"']);
  });
});

describe('branches', () => {
  const branches = (a: ScriptedStep[], b: ScriptedStep[], c: ScriptedStep[], d: ScriptedStep[]): SequentialAgent => {
    const agents = [speaker('a', a, [ask()]), speaker('b', b, [ask()]), speaker('c', c, [tool('look')])];
    return new SequentialAgent({name: 'seq', subAgents: [new ParallelAgent({name: 'par', subAgents: agents}), speaker('d', d)]});
  };

  test('that waited go on in their own branch; those that had finished are not run again', async () => {
    const desk = new Desk();
    const first = await desk.run(branches([asks('x')], ['B1'], [functionCalls({name: 'look'}), 'C2'], []), 'go');
    expect([first.kind, first.waits]).toEqual(['waiting', ['x']]);

    const second = await desk.run(branches(['A2'], [], [], ['D1']), answer('x'));
    expect([second.said, second.kind]).toEqual([['(par.a) a: "A2"', 'd: "D1"'], 'done']);
  });

  test('are answered one by one, in any order, and the sequence goes on after the last', async () => {
    const desk = new Desk();
    await desk.run(branches([asks('x')], [asks('y')], ['C1'], []), 'go');

    const second = await desk.run(branches([], ['B2'], [], []), answer('y'));
    expect([second.said, second.kind, second.waits]).toEqual([['(par.b) b: "B2"', 'par:  [waits:1]'], 'waiting', ['x']]);

    const third = await desk.run(branches([asks('z')], [], [], []), answer('x'));
    expect([third.kind, third.waits]).toEqual(['waiting', ['z']]);

    const fourth = await desk.run(branches(['A3'], [], [], ['D1']), answer('z'));
    expect([fourth.said, fourth.kind]).toEqual([['(par.a) a: "A3"', 'd: "D1"'], 'done']);
  });

  test('that ask again while others still wait are all waited for', async () => {
    const desk = new Desk();
    await desk.run(branches([asks('x')], [asks('y')], ['C1'], []), 'go');
    const second = await desk.run(branches([asks('z')], [], [], []), answer('x'));
    expect(second.waits?.toSorted()).toEqual(['y', 'z']);
    const third = await desk.run(branches([], ['B2'], [], []), answer('y'));
    expect([third.kind, third.waits]).toEqual(['waiting', ['z']]);
    expect((await desk.run(branches(['A3'], [], [], ['D1']), answer('z'))).said).toEqual(['(par.a) a: "A3"', 'd: "D1"']);
  });

  test('that are answered by one message go on beside each other', async () => {
    const desk = new Desk();
    await desk.run(branches([asks('x')], [asks('y')], ['C1'], []), 'go');
    const second = await desk.run(branches(['A2'], ['B2'], [], ['D1']), answer('y'), answer('x'));
    expect([second.said, second.kind]).toEqual([['(par.a) a: "A2"', '(par.b) b: "B2"', 'd: "D1"'], 'done']);
  });

  test('see only their own after the answer', async () => {
    const desk = new Desk();
    await desk.run(branches([asks('x')], ['B1'], ['C1'], []), 'go');
    const agent = branches(['A2'], [], [], ['D1']);
    await desk.run(agent, answer('x'));
    const a = agent.findAgent('a') as ReturnType<typeof speaker>;
    expect(a.model.requests[0]?.contents.flatMap(({parts = []}) => parts.map((part) => part.text ?? Object.keys(part)[0]))).toEqual([
      'go',
      'functionCall',
      'functionResponse',
    ]);
  });
});

describe('an escalation beside a call that waits', () => {
  const asksAndLeaves = functionCalls({name: 'ask', id: 'x'}, {name: 'leave', id: 'y'});

  test('ends the loop when the call is answered', async () => {
    const desk = new Desk();
    const loop = (...steps: ScriptedStep[]): LoopAgent =>
      new LoopAgent({name: 'loop', maxIterations: 3, subAgents: [speaker('a', steps, [ask(), leave()]), speaker('b', ['B'])]});
    const first = await desk.run(loop(asksAndLeaves), 'go');
    expect([first.kind, first.waits]).toEqual(['waiting', ['x']]);
    const second = await desk.run(loop('A done.'), answer('x'));
    expect([second.said, second.kind]).toEqual([['a: "A done."'], 'done']);
  });

  test('ends the loop also where it came from another branch', async () => {
    const desk = new Desk();
    const loop = (a: ScriptedStep[], b: ScriptedStep[]): LoopAgent => {
      const branches = new ParallelAgent({name: 'par', subAgents: [speaker('a', a, [ask()]), speaker('b', b, [leave()])]});
      return new LoopAgent({name: 'loop', maxIterations: 3, subAgents: [branches, speaker('c', ['C'])]});
    };
    const first = await desk.run(loop([asks('x')], [functionCalls({name: 'leave', id: 'y'})]), 'go');
    expect([first.kind, first.waits]).toEqual(['waiting', ['x']]);
    const second = await desk.run(loop(['A done.'], []), answer('x'));
    expect([second.said, second.kind]).toEqual([['(par.a) a: "A done."'], 'done']);
  });

  test('counts for its own round only', async () => {
    const desk = new Desk();
    const loop = (...steps: ScriptedStep[]): LoopAgent =>
      new LoopAgent({name: 'loop', maxIterations: 2, subAgents: [speaker('a', steps, [ask(), leave()])]});
    await desk.run(loop(asksAndLeaves), 'go');
    await desk.run(loop('A done.'), answer('x'));
    await desk.run(loop(asks('z')), 'again');
    expect((await desk.run(loop('A1', 'A2'), answer('z'))).said).toEqual(['a: "A1"', 'a: "A2"']);
  });
});
