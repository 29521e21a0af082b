import {describe, expect, test} from 'vitest';
import {FunctionTool, getFunctionCalls, getFunctionResponses, type Event} from 'sluice';
import {z} from 'zod';
import {answers, bye, expectValidLive, heldTool, liveStage, turn, vertex, whole, wire} from './kit.ts';

const echo = new FunctionTool({
  name: 'echo',
  description: 'Says it again.',
  parameters: z.object({say: z.string()}),
  execute: ({say}) => say,
});
const count = new FunctionTool({name: 'count', description: 'Counts.', execute: () => ({total: 3})});

const idsOf = (event: Event | undefined): (string | undefined)[] => (event ? getFunctionCalls(event).map(({id}) => id) : []);

describe('the calls of one message', () => {
  test('stand in one Event of the model, in order, and are answered by their ids in one message', async () => {
    await using it = await liveStage({agent: {tools: [echo, count]}});
    const {session, reading} = await it.talk();
    session.toolCall([
      {id: '1', name: 'echo', args: {say: 'a'}},
      {id: '2', name: 'count'},
      {id: '3', name: 'echo', args: {say: 'b'}},
    ]);
    await session.message('toolResponse');
    const {outcome} = await it.finish(session, reading);
    expect(reading.lines).toEqual([
      'root: echo({"say":"a"}) count({}) echo({"say":"b"})',
      'root: echo={"result":"a"} count={"total":3} echo={"result":"b"}',
      ...bye,
    ]);
    expect(reading.events[0]?.content?.role).toBe('model');
    expect(reading.events[1]?.content?.role).toBe('user');
    expect(idsOf(reading.events[0])).toEqual(['1', '2', '3']);
    expect(await it.stored()).toEqual(['user: "hi"', ...whole(reading.lines)]);
    expect(wire(session)).toEqual([
      turn('hi'),
      answers(
        {id: '1', name: 'echo', response: {result: 'a'}},
        {id: '2', name: 'count', response: {total: 3}},
        {id: '3', name: 'echo', response: {result: 'b'}},
      ),
    ]);
    expect(outcome).toMatchObject({kind: 'done', llmCalls: 2});
    expectValidLive(await it.stage.stored());
  });

  test('each get an id of their own on Vertex AI, which gives none and gets none', async () => {
    await using it = await liveStage({agent: {tools: [echo]}, gemini: vertex});
    const {session, reading} = await it.talk();
    session.toolCall(['a', 'b', 'c'].map((say) => ({name: 'echo', args: {say}})));
    await session.message('toolResponse');
    await it.finish(session, reading);
    const calls = reading.events.find((event) => getFunctionCalls(event).length > 0);
    const ids = idsOf(calls);
    expect(new Set(ids).size).toBe(3);
    expect(ids.every(Boolean)).toBe(true);
    expect(wire(session).at(-1)).toEqual(answers(...['a', 'b', 'c'].map((say) => ({name: 'echo', response: {result: say}}))));
    expectValidLive(await it.stage.stored());
  });

  test('are none: no Event, no content, and the conversation goes on', async () => {
    await using it = await liveStage({agent: {tools: [echo]}});
    const {session, reading} = await it.talk();
    session.send({toolCall: {functionCalls: []}});
    session.send({toolCall: {}});
    await it.finish(session, reading);
    expect(reading.lines).toEqual(bye);
    expect(wire(session)).toEqual([turn('hi')]);
  });

  test('are found behind what the model says in the same message', async () => {
    await using it = await liveStage({agent: {tools: [echo]}, server: {strict: false}});
    const {session, reading} = await it.talk();
    session.say('Let me ');
    session.send({serverContent: {modelTurn: {parts: [{text: 'see.'}, {functionCall: {id: '1', name: 'echo', args: {say: 'a'}}}]}}});
    await session.message('toolResponse');
    await it.finish(session, reading);
    expect(reading.lines).toEqual([
      'root: "Let me " [partial]',
      'root: "see." [partial]',
      'root: "Let me see." echo({"say":"a"})',
      'root: echo={"result":"a"}',
      ...bye,
    ]);
    expect(wire(session).at(-1)).toEqual(answers({id: '1', name: 'echo', response: {result: 'a'}}));
  });

  test('keep their places when the server repeats an id, in one message and in the next', async () => {
    await using it = await liveStage({agent: {tools: [echo]}});
    const {session, reading} = await it.talk();
    session.toolCall([
      {id: '1', name: 'echo', args: {say: 'a'}},
      {id: '1', name: 'echo', args: {say: 'b'}},
    ]);
    await session.message('toolResponse');
    session.toolCall([{id: '1', name: 'echo', args: {say: 'c'}}]);
    await session.message('toolResponse', 1);
    await it.finish(session, reading);
    const response = (say: string): Record<string, unknown> => ({id: '1', name: 'echo', response: {result: say}});
    expect(wire(session).slice(1)).toEqual([answers(response('a'), response('b')), answers(response('c'))]);
    expect(new Set(reading.events.flatMap((event) => idsOf(event))).size).toBe(3);
    expectValidLive(await it.stage.stored());
  });
});

describe('tools', () => {
  test('start on the message, all at once, while receiving goes on; the answer is in call order whoever ends first', async () => {
    const [a, b] = [heldTool('a'), heldTool('b')];
    await using it = await liveStage({agent: {tools: [a.tool, b.tool]}});
    const {session, reading} = await it.talk();
    session.toolCall([
      {id: '1', name: 'a', args: {n: 1}},
      {id: '2', name: 'b', args: {n: 2}},
    ]);
    // No turnComplete has come, and neither has ended.
    const [first, second] = [await a.call(), await b.call()];
    expect([first.args, second.args]).toEqual([{n: 1}, {n: 2}]);
    session.transcribeInput('Still ');
    await reading.until('user: heard:"Still " [partial]');
    session.transcribeInput('there?');
    await reading.until('user: heard:"there?" [partial]');
    second.end('late');
    first.end('early');
    await session.message('toolResponse');
    await it.finish(session, reading);
    expect(wire(session)).toEqual([
      turn('hi'),
      answers({id: '1', name: 'a', response: {result: 'early'}}, {id: '2', name: 'b', response: {result: 'late'}}),
    ]);
    expect(reading.lines).toEqual([
      'root: a({"n":1}) b({"n":2})',
      'user: heard:"Still " [partial]',
      'user: heard:"there?" [partial]',
      'root: a={"result":"early"} b={"result":"late"}',
      'user: heard:"Still there?"',
      ...bye,
    ]);
  });

  test('run ahead of a reader who reads nothing', async () => {
    const a = heldTool('a');
    await using it = await liveStage({agent: {tools: [a.tool]}});
    const run = it.run();
    const first = run.next();
    const session = await it.server.nextSession();
    await it.say('hi');
    await session.message('clientContent');
    session.toolCall([{id: '1', name: 'a'}]);
    (await a.call()).end('done');
    await session.message('toolResponse');
    expect((await first).value?.content?.parts?.[0]?.functionCall?.name).toBe('a');
    await run.return();
  });

  test('that are unknown, refused, broken or late are answered with their errors, and touch no sibling', async () => {
    const broken = new FunctionTool({
      name: 'broken',
      description: 'Breaks.',
      execute: () => {
        throw new Error('out of paper');
      },
    });
    const slow = heldTool('slow', {timeoutMs: 20});
    await using it = await liveStage({agent: {tools: [echo, broken, slow.tool]}});
    const {session, reading} = await it.talk();
    session.toolCall([
      {id: '1', name: 'nope'},
      {id: '2', name: 'echo', args: {say: 7}},
      {id: '3', name: 'broken'},
      {id: '4', name: 'slow'},
      {id: '5', name: 'echo', args: {say: 'fine'}},
    ]);
    const {payload} = await session.message('toolResponse');
    expect(payload['functionResponses']).toEqual([
      {id: '1', name: 'nope', response: {error: 'There is no tool `nope`. The tools are: echo, broken, slow'}},
      {id: '2', name: 'echo', response: {error: expect.stringContaining('say')}},
      {id: '3', name: 'broken', response: {error: 'out of paper'}},
      {id: '4', name: 'slow', response: {error: 'The tool `slow` did not end within 20 ms'}},
      {id: '5', name: 'echo', response: {result: 'fine'}},
    ]);
    expect((await it.finish(session, reading)).outcome.kind).toBe('done');
    expectValidLive(await it.stage.stored());
  });

  test('write state that is stored with their answer, and read what was written before', async () => {
    const add = new FunctionTool({
      name: 'add',
      description: 'Adds one.',
      execute: (_args, {state}) => {
        const sum = (state.get<number>('sum') ?? 0) + 1;
        state.set('sum', sum);
        return sum;
      },
    });
    await using it = await liveStage({agent: {tools: [add]}});
    const {session, reading} = await it.talk();
    session.toolCall([{id: '1', name: 'add'}]);
    await session.message('toolResponse');
    session.toolCall([{id: '2', name: 'add'}]);
    await session.message('toolResponse', 1);
    await it.finish(session, reading);
    expect(wire(session).slice(1)).toEqual([
      answers({id: '1', name: 'add', response: {result: 1}}),
      answers({id: '2', name: 'add', response: {result: 2}}),
    ]);
    expect(await it.stage.state()).toEqual({sum: 2});
    expect(reading.events.filter((event) => getFunctionResponses(event).length > 0).map(({actions}) => actions.stateDelta)).toEqual([
      {sum: 1},
      {sum: 2},
    ]);
  });
});

// No recording holds a toolCallCancellation: these frames are made by hand.
describe('a cancellation', () => {
  test('of one call of three fires its signal only, and leaves out its answer only', async () => {
    const held = ['a', 'b', 'c'].map((name) => heldTool(name));
    await using it = await liveStage({agent: {tools: held.map(({tool}) => tool)}});
    const {session, reading} = await it.talk();
    session.toolCall(held.map(({tool: {name}}, at) => ({id: `${at}`, name})));
    const [a, b, c] = await Promise.all(held.map((it) => it.call()));
    session.cancelToolCalls(['1']);
    await reading.until('root: [partial, cancels 1]');
    expect([a, b, c].map((call) => call?.context.abortSignal.aborted)).toEqual([false, true, false]);
    a?.end('A');
    c?.end('C');
    await session.message('toolResponse');
    await it.finish(session, reading);
    expect(wire(session).slice(1)).toEqual([
      answers({id: '0', name: 'a', response: {result: 'A'}}, {id: '2', name: 'c', response: {result: 'C'}}),
    ]);
    expect(reading.lines).toEqual([
      'root: a({}) b({}) c({})',
      'root: [partial, cancels 1]',
      'root: a={"result":"A"} b={"error":"cancelled; it may have taken effect","started":true} c={"result":"C"}',
      ...bye,
    ]);
    expect(await it.stored()).toEqual(['user: "hi"', ...whole(reading.lines)]);
    expectValidLive(await it.stage.stored());
  });

  test('of all calls of a message answers nothing, and what the user says next is not held back', async () => {
    const a = heldTool('a');
    await using it = await liveStage({agent: {tools: [a.tool]}});
    const {session, reading} = await it.talk();
    session.toolCall([{id: '1', name: 'a'}]);
    await a.call();
    void it.say('Forget it.');
    session.cancelToolCalls(['1']);
    await session.message('clientContent', 1);
    session.say('As you like.');
    session.completeTurn();
    await reading.until('root: "As you like." [turn complete]');
    await it.finish(session, reading);
    expect(wire(session)).toEqual([turn('hi'), turn('Forget it.')]);
    expect((await it.stored()).toSorted()).toEqual(
      [
        'user: "hi"',
        'root: a({})',
        'root: a={"error":"cancelled; it may have taken effect","started":true}',
        'user: "Forget it."',
        'root: "As you like." [turn complete]',
        'root: "Bye." [turn complete]',
      ].toSorted(),
    );
  });

  test('of ids that are unknown or finished changes nothing', async () => {
    const a = heldTool('a');
    await using it = await liveStage({agent: {tools: [echo, a.tool]}});
    const {session, reading} = await it.talk();
    session.toolCall([{id: '1', name: 'echo', args: {say: 'x'}}]);
    await session.message('toolResponse');
    session.toolCall([{id: '2', name: 'a'}]);
    const call = await a.call();
    session.cancelToolCalls(['1', 'never', '']);
    session.send({toolCallCancellation: {}});
    await reading.until('root: [partial, cancels 1 never ]');
    expect(call.context.abortSignal.aborted).toBe(false);
    call.end('still there');
    await session.message('toolResponse', 1);
    expect((await it.finish(session, reading)).outcome.kind).toBe('done');
    expect(wire(session).at(-1)).toEqual(answers({id: '2', name: 'a', response: {result: 'still there'}}));
  });

  test('keeps a call from starting that still waits for its place', async () => {
    const a = heldTool('a');
    await using it = await liveStage({agent: {tools: [a.tool]}, runConfig: {maxConcurrentTools: 1}});
    const {session, reading} = await it.talk();
    session.toolCall([
      {id: '1', name: 'a'},
      {id: '2', name: 'a'},
    ]);
    const call = await a.call();
    session.cancelToolCalls(['2']);
    await reading.until('root: [partial, cancels 2]');
    call.end('one');
    await session.message('toolResponse');
    await it.finish(session, reading);
    expect(a.calls).toHaveLength(1);
    expect(reading.lines[2]).toBe('root: a={"result":"one"} a={"error":"cancelled","started":false}');
    expect(wire(session).at(-1)).toEqual(answers({id: '1', name: 'a', response: {result: 'one'}}));
  });

  test('that comes while a hook still looks at the calls keeps them from starting', async () => {
    const a = heldTool('a');
    const looking = Promise.withResolvers<void>();
    const {promise: seen, resolve: see} = Promise.withResolvers<void>();
    await using it = await liveStage({
      agent: {
        tools: [a.tool],
        afterModelCallback: async ({response}) => {
          if (!response.content) return;
          see();
          await looking.promise;
        },
      },
    });
    const {session, reading} = await it.talk();
    session.toolCall([
      {id: '1', name: 'a'},
      {id: '2', name: 'a'},
    ]);
    await seen;
    session.cancelToolCalls(['2']);
    await it.received('toolCallCancellation');
    looking.resolve();
    (await a.call()).end('one');
    await session.message('toolResponse');
    await it.finish(session, reading);
    expect(a.calls).toHaveLength(1);
    expect(wire(session).at(-1)).toEqual(answers({id: '1', name: 'a', response: {result: 'one'}}));
  });

  // Servers tell of no cancellation then, and take no answer any more.
  test('is what an interruption means to a call that the model waits for', async () => {
    const [a, b] = [heldTool('a'), heldTool('b')];
    await using it = await liveStage({agent: {tools: [a.tool, b.tool]}});
    const {session, reading} = await it.talk();
    session.toolCall([
      {id: '1', name: 'a'},
      {id: '2', name: 'b'},
    ]);
    const [first, second] = [await a.call(), await b.call()];
    second.end('ready');
    session.interrupt();
    await reading.until('root: [interrupted]');
    expect(first.context.abortSignal.aborted).toBe(true);
    session.completeTurn();
    await it.finish(session, reading);
    expect(wire(session)).toEqual([turn('hi')]);
    expect(reading.lines.filter((line) => line.includes('='))).toEqual([
      'root: a={"error":"cancelled; it may have taken effect","started":true} b={"result":"ready"}',
    ]);
    expectValidLive(await it.stage.stored());
  });
});
