import {describe, expect, test} from 'vitest';
import {FunctionResponseError, FunctionTool, LiveRequestQueue, LongRunningFunctionTool, ToolExecutionMode} from 'sluice';
import {z} from 'zod';
import {answers, bye, expectValidLive, heldTool, liveStage, partText, turn, whole, wire} from './kit.ts';

const declared = (setup: Readonly<Record<string, unknown>> | undefined): unknown[] =>
  ((setup?.['tools'] ?? []) as {functionDeclarations: {name: string; behavior?: string}[]}[]).flatMap(({functionDeclarations}) =>
    functionDeclarations.map(({name, behavior}) => [name, behavior]),
  );

/** A tool that yields what the test gives it, until its signal fires. */
function stream(name: string, responseScheduling?: 'SILENT' | 'WHEN_IDLE' | 'INTERRUPT') {
  const items: PromiseWithResolvers<{value: unknown; last: boolean}>[] = [];
  const at = (index: number): PromiseWithResolvers<{value: unknown; last: boolean}> => (items[index] ??= Promise.withResolvers());
  const ends: string[] = [];
  let given = 0;
  const tool = new FunctionTool({
    name,
    description: `Streams ${name}.`,
    parameters: {type: 'object'},
    responseScheduling,
    async *execute(_args, {abortSignal}) {
      abortSignal.addEventListener('abort', () => at(given).reject(abortSignal.reason), {once: true});
      try {
        for (let index = 0; ; index++) {
          const {value, last} = await at(index).promise;
          if (last) return value;
          yield value;
        }
      } finally {
        ends.push(name);
      }
    },
  });
  const give = (value: unknown): void => at(given++).resolve({value, last: false});
  const end = (value: unknown): void => at(given++).resolve({value, last: true});
  return {tool, ends, give, end};
}

describe('a tool that the model does not wait for', () => {
  test('is declared so, answered by itself with its scheduling, and holds up neither siblings nor what the user types', async () => {
    const [slow, quiet, fast] = [
      heldTool('slow', {responseScheduling: 'INTERRUPT'}),
      heldTool('quiet', {responseScheduling: 'SILENT'}),
      heldTool('fast'),
    ];
    await using it = await liveStage({agent: {tools: [slow.tool, fast.tool, quiet.tool]}});
    const {session, reading} = await it.talk();
    expect(declared(session.setup)).toEqual([
      ['slow', 'NON_BLOCKING'],
      ['fast', undefined],
      ['quiet', 'NON_BLOCKING'],
      ['stop_streaming', undefined],
    ]);
    session.toolCall([
      {id: '1', name: 'slow'},
      {id: '2', name: 'fast'},
      {id: '3', name: 'quiet'},
      {id: '4', name: 'fast'},
    ]);
    const [first, second, third, fourth] = [await slow.call(), await fast.call(), await quiet.call(), await fast.call(1)];
    fourth.end(4);
    second.end(2);
    await session.message('toolResponse');
    void it.say('And?');
    await session.message('clientContent', 1);
    session.say('Working on it.');
    session.completeTurn();
    await reading.until('root: "Working on it." [turn complete]');
    third.end(3);
    await session.message('toolResponse', 1);
    first.end(1);
    await session.message('toolResponse', 2);
    await it.finish(session, reading);
    expect(wire(session)).toEqual([
      turn('hi'),
      answers({id: '2', name: 'fast', response: {result: 2}}, {id: '4', name: 'fast', response: {result: 4}}),
      turn('And?'),
      answers({id: '3', name: 'quiet', response: {result: 3}, scheduling: 'SILENT'}),
      answers({id: '1', name: 'slow', response: {result: 1}, scheduling: 'INTERRUPT'}),
    ]);
    expect(await it.stored()).toEqual([
      'user: "hi"',
      'root: slow({}) fast({}) quiet({}) fast({})',
      'root: fast={"result":2} fast={"result":4}',
      'user: "And?"',
      'root: "Working on it." [turn complete]',
      'root: quiet={"result":3}',
      'root: slow={"result":1}',
      'root: "Bye." [turn complete]',
    ]);
    expectValidLive(await it.stage.stored());

    const {contents} = await it.chat('And now?');
    expect(contents.map(({role, parts = []}) => [role, ...parts.map(partText)])).toEqual([
      ['user', '"hi"'],
      ['model', 'slow({})', 'fast({})', 'quiet({})', 'fast({})'],
      ['user', 'slow={"result":1}', 'fast={"result":2}', 'quiet={"result":3}', 'fast={"result":4}'],
      ['user', '"And?"'],
      ['model', '"Working on it."'],
      ['model', '"Bye."'],
      ['user', '"And now?"'],
    ]);
  });

  test('is not touched by an interruption', async () => {
    const [slow, fast] = [heldTool('slow', {responseScheduling: 'WHEN_IDLE'}), heldTool('fast')];
    await using it = await liveStage({agent: {tools: [slow.tool, fast.tool]}});
    const {session, reading} = await it.talk();
    session.toolCall([
      {id: '1', name: 'slow'},
      {id: '2', name: 'fast'},
    ]);
    const [first, second] = [await slow.call(), await fast.call()];
    session.interrupt();
    session.completeTurn();
    await reading.until('root: [turn complete]');
    expect([first, second].map(({context}) => context.abortSignal.aborted)).toEqual([false, true]);
    first.end('done');
    await session.message('toolResponse');
    await it.finish(session, reading);
    expect(wire(session).slice(1)).toEqual([answers({id: '1', name: 'slow', response: {result: 'done'}, scheduling: 'WHEN_IDLE'})]);
    expectValidLive(await it.stage.stored());
  });

  test('is stopped by a cancellation, and then not answered', async () => {
    const slow = heldTool('slow', {responseScheduling: 'WHEN_IDLE'});
    await using it = await liveStage({agent: {tools: [slow.tool]}});
    const {session, reading} = await it.talk();
    session.toolCall([
      {id: '1', name: 'slow'},
      {id: '2', name: 'slow'},
    ]);
    const [first, second] = [await slow.call(), await slow.call(1)];
    session.cancelToolCalls(['1']);
    await reading.until('root: slow={"error":"cancelled; it may have taken effect","started":true}');
    expect([first, second].map(({context}) => context.abortSignal.aborted)).toEqual([true, false]);
    second.end('done');
    await session.message('toolResponse');
    await it.finish(session, reading);
    expect(wire(session).slice(1)).toEqual([answers({id: '2', name: 'slow', response: {result: 'done'}, scheduling: 'WHEN_IDLE'})]);
    expectValidLive(await it.stage.stored());
  });

  test('keeps the run from ending until it has answered, when the user has said all', async () => {
    const slow = heldTool('slow', {responseScheduling: 'SILENT'});
    await using it = await liveStage({agent: {tools: [slow.tool]}});
    const {session, reading} = await it.talk();
    session.toolCall([{id: '1', name: 'slow'}]);
    const call = await slow.call();
    session.say('I will see.');
    session.completeTurn();
    it.queue.close();
    await reading.until('root: "I will see." [turn complete]');
    call.end('seen');
    expect((await reading.end).outcome.kind).toBe('done');
    await session.closed;
    expect(wire(session).at(-1)).toEqual(answers({id: '1', name: 'slow', response: {result: 'seen'}, scheduling: 'SILENT'}));
    expect(reading.lines.at(-1)).toBe('root: slow={"result":"seen"}');
  });
});

describe('a tool that streams', () => {
  test('tells the model each piece, and then its last answer', async () => {
    const ticker = stream('ticker', 'INTERRUPT');
    await using it = await liveStage({agent: {tools: [ticker.tool]}});
    const {session, reading} = await it.talk();
    session.toolCall([{id: '1', name: 'ticker'}]);
    for (const price of [10, 11]) {
      ticker.give({price});
      await reading.until(`root: ticker={"price":${price}} [partial]`);
    }
    await session.message('toolResponse', 1);
    ticker.end('closed');
    await session.message('toolResponse', 2);
    await it.finish(session, reading);
    const piece = (response: object, more: object): Record<string, unknown> =>
      answers({id: '1', name: 'ticker', response, scheduling: 'INTERRUPT', ...more});
    expect(wire(session).slice(1)).toEqual([
      piece({price: 10}, {willContinue: true}),
      piece({price: 11}, {willContinue: true}),
      piece({result: 'closed'}, {}),
    ]);
    expect(reading.lines).toEqual([
      'root: ticker({})',
      'root: ticker={"price":10} [partial]',
      'root: ticker={"price":11} [partial]',
      'root: ticker={"result":"closed"}',
      ...bye,
    ]);
    expect(await it.stored()).toEqual(['user: "hi"', ...whole(reading.lines)]);
  });

  test('only shows its pieces to the reader where the model waits for it', async () => {
    const ticker = stream('ticker');
    await using it = await liveStage({agent: {tools: [ticker.tool]}});
    const {session, reading} = await it.talk();
    expect(declared(session.setup)).toEqual([['ticker', undefined]]);
    session.toolCall([{id: '1', name: 'ticker'}]);
    ticker.give({price: 10});
    await reading.until('root: ticker={"price":10} [partial]');
    ticker.end({price: 11});
    await session.message('toolResponse');
    await it.finish(session, reading);
    expect(wire(session).slice(1)).toEqual([answers({id: '1', name: 'ticker', response: {price: 11}})]);
  });

  test('is stopped by the model with stop_streaming', async () => {
    const ticker = stream('ticker', 'WHEN_IDLE');
    await using it = await liveStage({agent: {tools: [ticker.tool]}, runConfig: {maxConcurrentTools: 1}});
    const {session, reading} = await it.talk();
    session.toolCall([{id: '1', name: 'ticker'}]);
    ticker.give(1);
    await session.message('toolResponse');
    session.toolCall([{id: '2', name: 'stop_streaming', args: {function_name: 'ticker'}}]);
    await session.message('toolResponse', 2);
    await it.finish(session, reading);
    expect(ticker.ends).toEqual(['ticker']);
    expect(wire(session).slice(2)).toEqual(
      expect.arrayContaining([
        answers({id: '2', name: 'stop_streaming', response: {status: 'Stopped `ticker`'}}),
        answers({
          id: '1',
          name: 'ticker',
          response: {error: 'cancelled; it may have taken effect', started: true},
          scheduling: 'SILENT',
        }),
      ]),
    );
    expectValidLive(await it.stage.stored());
  });

  test('of which none runs makes stop_streaming fail in words', async () => {
    await using it = await liveStage({agent: {tools: [stream('ticker', 'WHEN_IDLE').tool]}});
    const {session, reading} = await it.talk();
    session.toolCall([
      {id: '1', name: 'stop_streaming', args: {function_name: 'ticker'}},
      {id: '2', name: 'stop_streaming'},
    ]);
    await session.message('toolResponse');
    await it.finish(session, reading);
    expect(wire(session).slice(1)).toEqual([
      answers(
        {id: '1', name: 'stop_streaming', response: {error: 'No call of `ticker` is running'}},
        {id: '2', name: 'stop_streaming', response: {error: 'function_name must be the name of a function'}},
      ),
    ]);
  });

  test("leaves a tool of the user's own called stop_streaming alone", async () => {
    const own = new FunctionTool({
      name: 'stop_streaming',
      description: 'My own.',
      parameters: z.object({what: z.string()}),
      execute: ({what}) => `${what} goes on`,
    });
    await using it = await liveStage({agent: {tools: [stream('ticker', 'WHEN_IDLE').tool, own]}});
    const {session, reading} = await it.talk();
    expect(declared(session.setup)).toEqual([
      ['ticker', 'NON_BLOCKING'],
      ['stop_streaming', undefined],
    ]);
    session.toolCall([{id: '1', name: 'stop_streaming', args: {what: 'all'}}]);
    await session.message('toolResponse');
    await it.finish(session, reading);
    expect(wire(session).at(-1)).toEqual(answers({id: '1', name: 'stop_streaming', response: {result: 'all goes on'}}));
  });

  test('declares neither behavior nor stop_streaming where no tool asks for it', async () => {
    await using it = await liveStage({agent: {tools: [heldTool('a').tool]}});
    const {session, reading} = await it.talk();
    expect(declared(session.setup)).toEqual([['a', undefined]]);
    await it.finish(session, reading);
  });
});

describe('the order of calls', () => {
  const log: string[] = [];
  const step = (name: string, options: {exclusive?: boolean} = {}): FunctionTool =>
    new FunctionTool({
      name,
      description: name,
      ...options,
      execute: async (_args, {state}) => {
        log.push(`${name} starts, sees ${state.get('last') as string}`);
        state.set('last', name);
        for (let turns = 0; turns < 3; turns++) await new Promise((resolve) => setImmediate(resolve));
        log.push(`${name} ends`);
        return name;
      },
    });

  test.each([
    ['SEQUENTIAL', {toolExecutionMode: ToolExecutionMode.SEQUENTIAL}, ['a', 'b', 'c'], {}],
    ['an exclusive call in the middle', {}, ['a', 'b', 'c'], {exclusive: true}],
  ])('%s: each starts when the one before it has ended, and sees what it wrote', async (_, runConfig, names, b) => {
    log.length = 0;
    await using it = await liveStage({agent: {tools: [step('a'), step('b', b), step('c')]}, runConfig});
    const {session, reading} = await it.talk();
    session.toolCall(names.map((name) => ({name})));
    await session.message('toolResponse');
    await it.finish(session, reading);
    expect(log).toEqual(['a starts, sees undefined', 'a ends', 'b starts, sees a', 'b ends', 'c starts, sees b', 'c ends']);
    expect(await it.stage.state()).toEqual({last: 'c'});
  });

  test('no more than maxConcurrentTools run at a time, over all messages', async () => {
    const a = heldTool('a');
    await using it = await liveStage({agent: {tools: [a.tool]}, runConfig: {maxConcurrentTools: 2}});
    const {session, reading} = await it.talk();
    session.toolCall([{name: 'a'}, {name: 'a'}, {name: 'a'}]);
    const [first, second] = [await a.call(), await a.call(1)];
    expect(a.calls).toHaveLength(2);
    first.end(1);
    (await a.call(2)).end(3);
    second.end(2);
    await session.message('toolResponse');
    await it.finish(session, reading);
    expect(reading.lines[1]).toBe('root: a={"result":1} a={"result":2} a={"result":3}');
  });
});

describe('a long-running tool', () => {
  const ask = (): LongRunningFunctionTool => new LongRunningFunctionTool({name: 'ask', description: 'Asks.', execute: () => undefined});

  test('is answered as pending, and later by what the user sends', async () => {
    await using it = await liveStage({agent: {tools: [ask()]}});
    const {session, reading} = await it.talk();
    session.toolCall([{id: '1', name: 'ask'}]);
    await session.message('toolResponse');
    session.say('I have asked.');
    session.completeTurn();
    await reading.until('root: "I have asked." [turn complete]');
    void it.queue.sendContent({parts: [{functionResponse: {id: '1', response: {approved: true}}}]});
    await session.message('toolResponse', 1);
    await it.finish(session, reading);
    expect(wire(session)).toEqual([
      turn('hi'),
      answers({id: '1', name: 'ask', response: {status: 'pending'}}),
      answers({id: '1', name: 'ask', response: {approved: true}}),
    ]);
    expect(await it.stored()).toEqual([
      'user: "hi"',
      'root: ask({}) [waits 1]',
      'root: ask={"status":"pending"} [waits 1]',
      'root: "I have asked." [turn complete]',
      'user: ask={"approved":true}',
      'root: "Bye." [turn complete]',
    ]);
  });

  test.each([
    ['that nobody made', 'other', 'UNKNOWN_FUNCTION_CALL'],
    ['that was answered already', '1', 'FUNCTION_CALL_ANSWERED'],
  ])('an answer to a call %s ends the run with a FunctionResponseError', async (_, id, code) => {
    await using it = await liveStage({agent: {tools: [ask()]}});
    const {session, reading} = await it.talk();
    session.toolCall([{id: '1', name: 'ask'}]);
    await session.message('toolResponse');
    void it.queue.sendContent({parts: [{functionResponse: {id: '1', response: {approved: true}}}]});
    await session.message('toolResponse', 1);
    void it.queue.sendContent({parts: [{functionResponse: {id, response: {approved: false}}}]});
    const {error, outcome} = await reading.end;
    expect(error).toBeInstanceOf(FunctionResponseError);
    expect(error).toMatchObject({code, functionCallId: id});
    expect(outcome.kind).toBe('error');
    await session.closed;
    expect(wire(session)).toHaveLength(3);
  });

  test('that waits at the end can be answered by a later run', async () => {
    await using it = await liveStage({agent: {tools: [ask()]}});
    const {session, reading} = await it.talk();
    session.toolCall([{id: '1', name: 'ask'}]);
    await session.message('toolResponse');
    await it.finish(session, reading);
    const queue = new LiveRequestQueue();
    const later = it.read({liveRequestQueue: queue});
    void queue.sendContent({parts: [{functionResponse: {id: '1', response: {approved: true}}}]});
    const second = await it.server.nextSession();
    await second.message('clientContent', 1);
    second.say('Approved.');
    second.completeTurn();
    queue.close();
    await later.end;
    // The new session of the server does not know the call.
    expect(wire(second)).toEqual([
      {
        clientContent: {
          turns: [
            {role: 'user', parts: [{text: 'hi'}]},
            {role: 'user', parts: [{text: '[root] called tool `ask` with {}'}]},
            {role: 'user', parts: [{text: '[root] got from `ask`: {"status":"pending"}'}]},
            {role: 'model', parts: [{text: 'Bye.'}]},
          ],
          turnComplete: false,
        },
      },
      turn('[root] got from `ask`: {"approved":true}'),
    ]);
    expect((await it.stored()).slice(-2)).toEqual(['user: ask={"approved":true}', 'root: "Approved." [turn complete]']);
  });
});
