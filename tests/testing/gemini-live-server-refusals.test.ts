import {afterEach, beforeEach, describe, expect, test} from 'vitest';
import {GeminiLiveServer, type LiveRefusal, type LiveScript} from '../../lib/testing/index.ts';
import {dial, geminiPath, nextMessage, setup, vertexPath} from './live-client.ts';

let server: GeminiLiveServer;
beforeEach(async () => {
  server = await GeminiLiveServer.start({noise: false});
});
afterEach(() => server.close());

const declaring = (...functionDeclarations: object[]): object => ({setup: {...setup.setup, tools: [{functionDeclarations}]}});
const responding = (...functionResponses: object[]): object => ({toolResponse: {functionResponses}});
const resuming = (handle: string): object => ({setup: {...setup.setup, sessionResumption: {handle}}});

interface Talk {
  readonly path?: string;
  readonly script?: LiveScript;
  /** Before which of its messages the client waits for one of the server's. */
  readonly waits?: readonly number[];
}

/** Says all of it, and gives the refusal; `undefined` where the server is still there after the last message. */
async function refusal(messages: readonly unknown[], {path = geminiPath, script, waits = []}: Talk = {}): Promise<LiveRefusal | undefined> {
  if (script) server.session(script);
  const client = await dial(server, {path});
  for (const [at, message] of messages.entries()) {
    if (waits.includes(at)) await nextMessage(client);
    client.webSocket.send(typeof message === 'string' ? message : JSON.stringify(message));
  }
  const {session} = client;
  await expect.poll(() => session.isClosed || session.received.length === messages.length).toBe(true);
  if (session.refusal) {
    const {code, reason} = await client.closed;
    expect(code).toBe(session.refusal.code);
    expect(session.refusal.reason.startsWith(reason)).toBe(true);
    expect(reason.length).toBe(Math.min(session.refusal.reason.length, 123));
    expect(await session.closed).toMatchObject({code, reason, early: false});
  } else client.webSocket.terminate();
  return session.refusal;
}

describe('GeminiLiveServer refuses', () => {
  test.each<[what: string, messages: unknown[], reason: string]>([
    ['what is not JSON', ['{"setup"'], 'Invalid JSON payload received. Unexpected token.\n{"setup"\n^'],
    ['what is not an object', [[1]], 'Invalid JSON payload received. Unexpected token.\n[1]\n^'],
    ['a first message that is no setup', [{clientContent: {}}], 'setup must be the first message and only the first'],
    ['a first message that is nothing', [{}], 'setup must be the first message and only the first'],
    ['a second setup', [setup, setup], 'setup must be the first message and only the first'],
    [
      'an unknown field of the setup',
      [{setup: {model: 'm', nope: 1}}],
      'Invalid JSON payload received. Unknown name "nope" at \'setup\': Cannot find field.',
    ],
    [
      'an unknown field far inside',
      [{setup: {generationConfig: {thinkingConfig: {depth: 1}}}}],
      'Invalid JSON payload received. Unknown name "depth" at \'setup.generation_config.thinking_config\': Cannot find field.',
    ],
    [
      "a field that is the request's, not the setup's",
      [{setup: {responseModalities: ['AUDIO']}}],
      'Invalid JSON payload received. Unknown name "responseModalities" at \'setup\': Cannot find field.',
    ],
    ['an unknown message', [setup, {hello: {}}], 'Invalid JSON payload received. Unknown name "hello": Cannot find field.'],
    [
      'an unknown field of another message',
      [setup, {realtime_input: {sound: {}}}],
      'Invalid JSON payload received. Unknown name "sound" at \'realtime_input\': Cannot find field.',
    ],
    [
      'an unknown modality',
      [{setup: {generation_config: {response_modalities: ['AUDIO', 'SMELL']}}}],
      "Invalid value at 'setup.generation_config.response_modalities[1]' " +
        '(type.googleapis.com/google.ai.generativelanguage.v1beta.GenerationConfig.Modality), "SMELL"',
    ],
  ])('%s', async (_, messages, reason) => {
    expect(await refusal(messages)).toEqual({code: 1007, reason});
  });

  test("a field of Vertex's on the Gemini API", async () => {
    const message = {setup: {explicitVadSignal: true}};
    expect(await refusal([message])).toMatchObject({code: 1007});
    expect(await refusal([message], {path: vertexPath})).toBeUndefined();
  });

  test('nothing where it is not strict', async () => {
    await using lenient = await GeminiLiveServer.start({strict: false});
    server.session(['setup', {setupComplete: {}}], {strict: false});
    for (const open of [lenient, server]) {
      const client = await dial(open);
      client.send({setup: {nope: 1, tools: 'x'}});
      expect(await nextMessage(client)).toEqual({setupComplete: {}});
      client.send(setup);
      client.webSocket.send('{');
      client.send({toolResponse: {functionResponses: [null, 5, {id: 'x', scheduling: 'x'}]}});
      client.send({clientContent: {}});
      await client.session.message('clientContent');
      expect([client.session.refusal, client.session.isClosed]).toEqual([undefined, false]);
    }
  });

  test('and keeps the message that it refused, and its script hears of the close', async () => {
    const {promise: told, resolve} = Promise.withResolvers<unknown>();
    server.session(async (session) => {
      await session.acknowledge();
      await session.next('toolResponse').catch(resolve);
    });
    const client = await dial(server);
    client.send(setup);
    client.send({clientContent: {nope: 1}});
    expect(String(await told)).toBe('LiveSessionClosedError: The session was closed (1007) before toolResponse came');
    expect(client.session.received.map(({kind}) => kind)).toEqual(['setup', 'clientContent']);
  });
});

describe('GeminiLiveServer and calls', () => {
  const calling =
    (...calls: {name: string; id?: string}[]): LiveScript =>
    async (session) => {
      await session.acknowledge();
      session.toolCall(calls);
    };
  const f = calling({name: 'f', id: 'c1'});
  const answer = {id: 'c1', name: 'f', response: {}};
  /** After the setup's acknowledgement and the call. */
  const waits = [1, 2];
  const idle = {realtimeInput: {text: 'hm'}};

  test('takes an answer to a call', async () => {
    expect(await refusal([setup, idle, responding(answer), {clientContent: {}}], {script: f, waits})).toBeUndefined();
    const all = calling({name: 'f', id: 'a'}, {name: 'g', id: 'b'});
    const both = responding({...answer, id: 'b', scheduling: 'WHEN_IDLE'}, {...answer, id: 'a', scheduling: 'SILENT'});
    expect(await refusal([setup, idle, both, {clientContent: {}}], {script: all, waits})).toBeUndefined();
  });

  test('refuses an answer to a call that it did not make', async () => {
    const reason = '* tool_response.function_responses[1].id: no function call has the id "c2"';
    expect(await refusal([setup, idle, responding(answer, {...answer, id: 'c2'})], {script: f, waits})).toEqual({code: 1008, reason});
  });

  test('refuses an answer without an id, but on Vertex', async () => {
    const messages = [setup, idle, responding({name: 'f', response: {}}), {clientContent: {}}];
    const reason = '* tool_response.function_responses[0].id: the id of a call is required';
    expect(await refusal(messages, {script: f, waits})).toEqual({code: 1007, reason});
    expect(await refusal(messages, {script: calling({name: 'f'}), waits, path: vertexPath})).toBeUndefined();
  });

  test('refuses an unknown scheduling', async () => {
    const reason =
      "Invalid value at 'tool_response.function_responses[0].scheduling' " +
      '(type.googleapis.com/google.ai.generativelanguage.v1beta.FunctionResponse.Scheduling), "LATER"';
    expect(await refusal([setup, idle, responding({...answer, scheduling: 'LATER'})], {script: f, waits})).toEqual({code: 1007, reason});
  });

  const [first, second] = [responding({...answer, id: 'c0', name: 'g'}), responding(answer)];
  const some = responding({...answer, id: 'c0', name: 'g', willContinue: true});
  const background = ['f', 'g'].map((name) => ({name, behavior: 'NON_BLOCKING'}));
  test.each<[when: string, messages: unknown[], path: string, blocking: string | undefined]>([
    ['both calls are open', [setup, idle], geminiPath, 'g'],
    ['one has an answer that will continue', [setup, idle, some], geminiPath, 'g'],
    ['one has its answer', [setup, idle, first], geminiPath, 'f'],
    ['both have their answers', [setup, idle, second, some, first], geminiPath, undefined],
    ['one is non-blocking', [declaring(...background.slice(1)), idle], geminiPath, 'f'],
    ['both are non-blocking', [declaring(...background), idle], geminiPath, undefined],
    ['both are open on Vertex', [setup, idle], vertexPath, undefined],
    ['one is blocking on Vertex', [declaring({name: 'f', behavior: 'BLOCKING'}), idle], vertexPath, 'f'],
  ])('judges clientContent when %s', async (_, messages, path, blocking) => {
    const script = calling({name: 'g', id: 'c0'}, {name: 'f', id: 'c1'});
    expect(await refusal([...messages, {clientContent: {}}], {script, waits, path})).toEqual(
      blocking && {
        code: 1008,
        reason: 'Operation is not implemented, or supported, or enabled.',
        detail: `clientContent came while a call of \`${blocking}\`, which is a blocking function, had no answer`,
      },
    );
  });

  test.each<[how: string, message: Readonly<Record<string, unknown>>]>([
    ['were cancelled', {toolCallCancellation: {ids: ['c1']}}],
    ['belong to a turn that was interrupted', {serverContent: {interrupted: true}}],
  ])('waits no longer for calls that %s, and takes a late answer', async (_, message) => {
    const script: LiveScript = async (session) => {
      await session.acknowledge();
      session.toolCall([{name: 'f', id: 'c1'}]);
      session.send(message);
    };
    expect(await refusal([setup, idle, idle, {clientContent: {}}, responding(answer)], {script, waits: [1, 2, 3]})).toBeUndefined();
  });
});

describe('GeminiLiveServer and resumption', () => {
  const reason = 'Requested entity was not found.';

  test('refuses a handle that nobody offered', async () => {
    expect(await refusal([resuming('H')])).toEqual({code: 1008, reason, detail: 'no session offered the resumption handle "H"'});
    expect(await refusal([resuming('')])).toBeUndefined();
  });

  test('takes a handle that it was started with, or that a session has offered', async () => {
    await using other = await GeminiLiveServer.start({resumptionHandles: ['before'], noise: false});
    const first = await dial(other);
    first.send(resuming('before'));
    expect(await nextMessage(first)).toEqual({setupComplete: {}});
    first.session.offerResumption('H');
    first.session.offerResumption('not now', false);
    await nextMessage(first);
    const second = await dial(other);
    second.send(resuming('H'));
    expect(await nextMessage(second)).toEqual({setupComplete: {}});
    const third = await dial(other);
    third.send(resuming('not now'));
    expect(await third.closed).toEqual({code: 1008, reason});
  });

  test('goes on with the calls that were made before the handle, and with no later one', async () => {
    server.session(async (session) => {
      await session.acknowledge();
      session.toolCall([{name: 'f', id: 'before'}]);
      session.offerResumption('H');
      session.toolCall([{name: 'f', id: 'after'}]);
      session.drop();
    });
    const first = await dial(server);
    first.send(setup);
    await first.closed;
    expect(await refusal([resuming('H'), responding({id: 'before', name: 'f', response: {}})])).toBeUndefined();
    expect(await refusal([resuming('H'), responding({id: 'after', name: 'f', response: {}})])).toMatchObject({code: 1008});
  });
});
