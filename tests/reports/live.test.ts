// What people reported about live runs of other runtimes and of the SDK below this one, as it comes over the wire. The right behaviour is
// asserted as a user sees it; the report stands above each test. More of each is proved by the tests named (files in `tests/`):
//
// | report | test |
// | --- | --- |
// | google/adk-java#1357; livekit/agents-js#1137 | live/calls: the calls of one message |
// | google/adk-python#5407 | live/calls: tools start on the message, all at once, while receiving goes on |
// | google/adk-java#462 | live/turns: an interruption |
// | google/adk-js#676, #692 | live/bad-input: the live mode is refused in runAsync, and taken in runLive |
// | google/adk-python#4996, #5771, #5525, #5675, #4357, #2179; googleapis/python-genai#2935; pydantic/pydantic-ai#7188 | live/resumption |
// | google/adk-python#4704, #6259 | live/agent: the hooks |
// | livekit/agents-js PR#1130 | live/input: what a user sends to a run as a turn waits while the model waits for a tool |
// | livekit/agents#6479; pipecat-ai/pipecat PR#5497 | live/resumption: the answer to a call whose connection was lost |
// | googleapis/js-genai#1860 | gemini/live/failures, live/stop |
import {afterEach, describe, expect, test, vi} from 'vitest';
import {FunctionTool, getFunctionCalls, ModelError, StreamingMode} from 'sluice';
import {expectNoListeners, idle} from '../stories/kit.ts';
import {answers, bye, expectValidLive, heldTool, liveStage, turn, vertex, whole, wire} from '../live/kit.ts';

afterEach(() => vi.useRealTimers());

const named = (name: string): FunctionTool => new FunctionTool({name, description: name, execute: () => `${name} did it`});

describe('several calls in one message', () => {
  // google/adk-java#1357, livekit/agents-js#1137
  test('all run, and all are answered with their own ids', async () => {
    await using it = await liveStage({agent: {tools: ['lights', 'music', 'door'].map((name) => named(name))}});
    const {session, reading} = await it.talk('Good night.');
    const calls = session.toolCall([{name: 'lights'}, {name: 'music'}, {name: 'door'}]);
    await session.message('toolResponse');
    await it.finish(session, reading);
    expect(wire(session).at(-1)).toEqual(answers(...calls.map(({id, name}) => ({id, name, response: {result: `${name} did it`}}))));
    expect(reading.lines).toEqual([
      'root: lights({}) music({}) door({})',
      'root: lights={"result":"lights did it"} music={"result":"music did it"} door={"result":"door did it"}',
      ...bye,
    ]);
  });

  // googleapis/js-genai#1210: Vertex AI gives no ids, and the model may talk on after it has called.
  test('without ids are answered without ids, and what the model says meanwhile is not lost', async () => {
    const a = heldTool('a');
    await using it = await liveStage({agent: {tools: [a.tool]}, gemini: vertex});
    const {session, reading} = await it.talk();
    session.toolCall([{name: 'a'}, {name: 'a'}]);
    const [first, second] = [await a.call(), await a.call(1)];
    session.say('One moment, ');
    session.say('please.');
    await reading.until('root: "please." [partial]');
    first.end(1);
    second.end(2);
    await session.message('toolResponse');
    session.completeTurn();
    await reading.until('root: "One moment, please." [turn complete]');
    await it.finish(session, reading);
    expect(wire(session)).toEqual([turn('hi'), answers({name: 'a', response: {result: 1}}, {name: 'a', response: {result: 2}})]);
    expectValidLive(await it.stage.stored());
  });

  // google/adk-python#6541
  test('are run wherever they stand in their message', async () => {
    await using it = await liveStage({agent: {tools: [named('look')]}, server: {strict: false}});
    const {session, reading} = await it.talk();
    const parts = [
      {text: 'I look.'},
      {functionCall: {id: '1', name: 'look'}},
      {text: 'And then?'},
      {functionCall: {id: '2', name: 'look'}},
    ];
    session.send({serverContent: {modelTurn: {parts}}});
    await session.message('toolResponse');
    await it.finish(session, reading);
    expect(reading.events.flatMap((event) => getFunctionCalls(event)).map(({id}) => id)).toEqual(['1', '2']);
    expectValidLive(await it.stage.stored());
  });
});

// google/adk-python#5407
test('a model that waits for its tools before it completes its turn does not wait for ever', async () => {
  await using it = await liveStage({agent: {tools: [named('look')]}});
  it.server.session(async (session) => {
    await session.acknowledge();
    await session.next('clientContent');
    session.toolCall([{name: 'look'}]);
    // It says no word, and completes nothing, until it has the answer.
    await session.next('toolResponse');
    session.say('Seen.');
    session.completeTurn();
  });
  const reading = it.read();
  await it.say('Look!');
  it.queue.close();
  expect((await reading.end).outcome).toMatchObject({kind: 'done', llmCalls: 2});
  expect(reading.lines.at(-1)).toBe('root: "Seen." [turn complete]');
});

// google/adk-java#462: the frame is made by hand.
test('an interruption reaches the reader while a tool runs', async () => {
  const slow = heldTool('slow');
  await using it = await liveStage({agent: {tools: [slow.tool]}, runConfig: {responseModalities: ['AUDIO']}});
  const {session, reading} = await it.talk();
  session.audio('AAAA');
  session.toolCall([{name: 'slow'}]);
  const call = await slow.call();
  session.interrupt();
  const event = await reading.until(({interrupted}) => interrupted === true);
  expect(event.partial).toBeUndefined();
  expect(call.context.abortSignal.aborted).toBe(true);
  session.completeTurn();
  await reading.until('root: [turn complete]');
  await it.finish(session, reading);
});

// Frontier model forum, thread 196216: the model takes nothing back, and gets no answer that it would not read.
test('an interruption takes back the calls that the model waited for, also where the server does not say so', async () => {
  const pay = heldTool('pay');
  await using it = await liveStage({agent: {tools: [pay.tool]}});
  const {session, reading} = await it.talk('Pay.');
  session.toolCall([{name: 'pay'}]);
  await pay.call();
  void it.say('No, wait!');
  session.interrupt();
  session.completeTurn();
  await session.message('clientContent', 1);
  session.say('I wait.');
  session.completeTurn();
  await reading.until('root: "I wait." [turn complete]');
  await it.finish(session, reading);
  expect(wire(session)).toEqual([turn('Pay.'), turn('No, wait!')]);
  // Whoever reads the session afterwards knows that it may have happened.
  expect(reading.lines).toContain('root: pay={"error":"cancelled; it may have taken effect","started":true}');
});

// google/adk-js#676, #692
test('the live mode in a run that is not live is an error that says so', async () => {
  await using it = await liveStage();
  const run = it.stage.run('hi', {runConfig: {streamingMode: StreamingMode.BIDI}});
  await expect(run.next()).rejects.toMatchObject({code: 'INVALID_OPTION', option: 'runConfig.streamingMode'});
  expect(await it.stored()).toEqual([]);
});

// google/adk-python#4704, #6259
test('the hooks of model and tools are called in a live run', async () => {
  const log: string[] = [];
  await using it = await liveStage({
    agent: {
      tools: [named('look')],
      beforeModelCallback: () => void log.push('before the model'),
      afterModelCallback: ({response}) => void (response.content && log.push('after the model')),
      beforeToolCallback: ({tool}) => void log.push(`before ${tool.name}`),
      afterToolCallback: ({tool}) => void log.push(`after ${tool.name}`),
    },
  });
  const {session, reading} = await it.talk();
  session.toolCall([{name: 'look'}]);
  await session.message('toolResponse');
  await it.finish(session, reading);
  expect(log).toEqual(['before the model', 'after the model', 'before look', 'after look', 'after the model']);
});

describe('a connection that ends', () => {
  // google/adk-python#4996, #5525, #5771, #5675: the goAway is made by hand.
  test('as announced is followed by another from the newest handle', async () => {
    await using it = await liveStage();
    const {session, reading} = await it.talk();
    session.say('Hello.');
    session.completeTurn();
    session.offerResumption('old');
    session.offerResumption('', false);
    session.offerResumption('new');
    session.goAway('10s');
    const second = await it.server.nextSession();
    await second.message('setup');
    await it.finish(second, reading);
    expect(second.setup?.['sessionResumption']).toEqual({handle: 'new'});
    expect(wire(second)).toEqual([]);
    // google/adk-python#4357: what was said is in the session once.
    expect(await it.stored()).toEqual(['user: "hi"', 'root: "Hello." [turn complete]', 'root: "Bye." [turn complete]']);
  });

  // google/adk-python#2179, #5675; googleapis/python-genai#2935
  test.each([
    ['with 1011', 1011, 6],
    ['with 1007', 1007, 1],
    ['with 1008', 1008, 1],
  ])('over and over %s ends the run, with its own words', async (_, code, connections) => {
    vi.useFakeTimers({toFake: ['setTimeout', 'clearTimeout']});
    await using it = await liveStage();
    for (let count = 0; count < 20; count++) {
      it.server.session(async (session) => {
        await session.acknowledge();
        session.close(code, 'Sorry.');
      });
    }
    const {end} = it.read();
    let over: Awaited<typeof end> | undefined | void;
    while (!over) {
      over = await Promise.race([end, idle()]);
      if (vi.getTimerCount() > 0) await vi.advanceTimersByTimeAsync(50);
    }
    expect(over.error).toBeInstanceOf(ModelError);
    expect(over.error).toMatchObject({closeCode: code, message: 'Sorry.'});
    expect(it.server.sessions).toHaveLength(connections);
  });

  // openai/openai-agents-python#5068
  test('leaves nothing to the next one', async () => {
    const slow = heldTool('slow', {responseScheduling: 'SILENT'});
    await using it = await liveStage({agent: {tools: [slow.tool]}});
    const {session, reading} = await it.talk();
    session.toolCall([{id: '1', name: 'slow'}]);
    const call = await slow.call();
    session.say('Half a ');
    await reading.until('root: "Half a " [partial]');
    session.drop();
    const second = await it.server.nextSession();
    await second.message('clientContent');
    // The same id, of another call.
    second.toolCall([{id: '1', name: 'slow'}]);
    (await slow.call(1)).end('second');
    await second.message('toolResponse');
    call.end('first');
    await second.message('clientContent', 1);
    await it.finish(second, reading);
    expect(whole(reading.lines)).toEqual([
      'root: slow({})',
      'root: "Half a " [interrupted]',
      'root: slow({})',
      'root: slow={"result":"second"}',
      'root: slow={"result":"first"}',
      'root: "Bye." [turn complete]',
    ]);
    expect(wire(second)).toEqual([
      turn('hi'),
      answers({id: '1', name: 'slow', response: {result: 'second'}, scheduling: 'SILENT'}),
      // Silent, so it asks for nothing.
      {clientContent: {turns: [{role: 'user', parts: [{text: '[root] got from `slow`: {"result":"first"}'}]}], turnComplete: false}},
    ]);
    expectValidLive(await it.stage.stored());
  });

  // livekit/agents#6479, pipecat-ai/pipecat PR#5497
  test('takes no answer to a call with it', async () => {
    const slow = heldTool('slow');
    await using it = await liveStage({agent: {tools: [slow.tool]}});
    const {session, reading} = await it.talk();
    session.toolCall([{id: '1', name: 'slow'}]);
    const call = await slow.call();
    session.drop();
    call.end('done');
    const second = await it.server.nextSession();
    const {payload} = await second.message('clientContent', 1);
    expect(JSON.stringify(payload)).toContain('done');
    await it.finish(second, reading);
  });
});

// livekit/agents-js PR#1130
test('what is typed while the model waits for a tool does not end the connection', async () => {
  const slow = heldTool('slow');
  await using it = await liveStage({agent: {tools: [slow.tool]}});
  const {session, reading} = await it.talk();
  session.toolCall([{id: '1', name: 'slow'}]);
  const call = await slow.call();
  await it.say('Are you there?');
  await it.queue.sendRealtime({mimeType: 'audio/pcm', data: 'AAAA'});
  await session.message('realtimeInput');
  call.end('done');
  await session.message('clientContent', 1);
  expect(session.received.map(({kind}) => kind)).toEqual(['setup', 'clientContent', 'realtimeInput', 'toolResponse', 'clientContent']);
  expect(session.isClosed).toBe(false);
  await reading.run.return();
});

describe('an attempt to connect', () => {
  // googleapis/js-genai#1860, #1257
  test.each(['stall', 'no word after the setup'])('that is never answered (%s) ends with the abort, and leaves nothing', async (how) => {
    await using it = await liveStage();
    if (how === 'stall') it.server.session(() => {}, {handshake: 'stall'});
    else it.server.session(() => {});
    const stop = new AbortController();
    const reading = it.read({abortSignal: stop.signal});
    const session = await it.server.nextSession();
    stop.abort('enough');
    const {error, outcome} = await reading.end;
    expect(error).toBe('enough');
    expect(outcome).toMatchObject({kind: 'abort', abandoned: []});
    await session.closed;
    expectNoListeners(stop.signal);
  });

  // googleapis/js-genai#1257
  test('that is never answered ends at its deadline, for good in a bounded time', async () => {
    vi.useFakeTimers({toFake: ['setTimeout', 'clearTimeout', 'Date']});
    await using it = await liveStage({runConfig: {timeoutMs: Infinity}});
    for (let count = 0; count < 20; count++) it.server.session(() => {});
    const {end} = it.read();
    const since = Date.now();
    let over: Awaited<typeof end> | undefined | void;
    while (!over) {
      over = await Promise.race([end, idle()]);
      await vi.advanceTimersByTimeAsync(500);
    }
    expect(over.error).toMatchObject({name: 'ModelError', code: 'CONNECT_TIMEOUT'});
    expect(Date.now() - since).toBeLessThan(10 * 60_000);
  });

  // googleapis/js-genai#696
  test('that is refused for an unknown field of its setup says so in the server’s words', async () => {
    await using it = await liveStage({runConfig: {realtimeInputConfig: {nonsense: true} as never}});
    const {error} = await it.read().end;
    expect(error).toBeInstanceOf(ModelError);
    expect(error).toMatchObject({closeCode: 1007, message: expect.stringContaining('nonsense')});
    expect(it.server.sessions).toHaveLength(1);
  });
});

// googleapis/js-genai#714: real frames are binary; firebase/firebase-android-sdk#7648: unknown ones must not end the run.
test('frames of both kinds are read, and messages that nobody knows are passed over', async () => {
  await using it = await liveStage({server: {noise: true}});
  const {session, reading} = await it.talk();
  const said = (text: string): string => JSON.stringify({serverContent: {modelTurn: {parts: [{text}]}}});
  session.sendRaw(said('bi'));
  session.sendRaw(said('na'), {binary: false});
  session.send({brandNew: {since: 2027}});
  session.send({serverContent: {brandNew: true}});
  session.goAway('600s');
  session.sendRaw(new TextEncoder().encode(said('ry')));
  await reading.until('root: "ry" [partial]');
  session.completeTurn();
  const second = await it.server.nextSession();
  await it.finish(second, reading);
  expect(whole(reading.lines)).toEqual(['root: "binary" [turn complete]', 'root: "Bye." [turn complete]']);
});

// google-gemini/cookbook#1225
test('a model that falls silent in its turn, with its socket open, is asked again over another one', async () => {
  await using it = await liveStage({gemini: {idleMs: 100}});
  const {session, reading} = await it.talk();
  session.say('Half an ');
  const second = await it.server.nextSession();
  await second.message('clientContent');
  second.say('A whole answer.');
  await reading.until('root: "A whole answer." [partial]');
  it.queue.close();
  second.completeTurn();
  expect((await reading.end).outcome.kind).toBe('done');
  expect(wire(second)).toEqual([turn('hi')]);
  expect(await session.closed).toMatchObject({early: true});
  expect(whole(reading.lines)).toEqual(['root: "Half an " [interrupted]', 'root: "A whole answer." [turn complete]']);
});
