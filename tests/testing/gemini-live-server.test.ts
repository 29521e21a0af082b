import {GoogleGenAI} from '@google/genai';
import {afterEach, beforeEach, describe, expect, test, vi} from 'vitest';
import {WebSocket} from 'ws';
import {GeminiLiveServer, type LiveServerSession} from '../../lib/testing/index.ts';
import {dial, framed, geminiPath, listener, nextMessage, refusedHandshake, roundTrip, setup, vertexPath} from './live-client.ts';

let server: GeminiLiveServer;
beforeEach(async () => {
  server = await GeminiLiveServer.start();
});
afterEach(() => server.close());

describe('GeminiLiveServer frames', () => {
  test('every message as pretty JSON and a line feed in a binary frame, with an empty one after every second', async () => {
    server.session(async (session) => {
      await session.acknowledge();
      for (const text of ['Zü', 'rich', '!']) session.say(text);
    });
    const client = await dial(server);
    client.send(setup);
    const got = [];
    for (let count = 0; count < 6; count += 1) got.push(await client.next());
    const said = (text: string): object => ({serverContent: {modelTurn: {parts: [{text}]}}});
    expect(got).toEqual([{setupComplete: {}}, said('Zü'), {}, said('rich'), said('!'), {}].map(framed));
    expect(got[0]?.text).toBe('{\n  "setupComplete": {}\n}\n');
    expect(client.session.received.map(({text}) => text)).toEqual([JSON.stringify(setup)]);
  });

  const words = async (session: LiveServerSession): Promise<void> => {
    await session.acknowledge();
    session.say('a');
    session.audio('AAAA');
    session.transcribeInput('in');
    session.transcribeOutput('out');
    session.toolCall([{name: 'f', args: {x: 1}}, {name: 'g'}, {name: 'h', id: 'own'}]);
    session.cancelToolCalls(['own']);
    session.interrupt();
    session.completeGeneration();
    session.completeTurn();
    session.completeTurn({totalTokenCount: 3});
    session.goAway('9.5s');
    session.offerResumption('H');
    session.offerResumption('', false);
    session.close();
  };
  const wordsTail = [
    {toolCallCancellation: {ids: ['own']}},
    {serverContent: {interrupted: true}},
    {serverContent: {generationComplete: true}},
    {serverContent: {turnComplete: true}},
    {serverContent: {turnComplete: true}, usageMetadata: {totalTokenCount: 3}},
    {goAway: {timeLeft: '9.5s'}},
    {sessionResumptionUpdate: {newHandle: 'H', resumable: true}},
    {sessionResumptionUpdate: {newHandle: '', resumable: false}},
  ];
  const transcripts = [{serverContent: {inputTranscription: {text: 'in'}}}, {serverContent: {outputTranscription: {text: 'out'}}}];

  test('the words of the Gemini API', async () => {
    server.session(words, {noise: false});
    const client = await dial(server);
    client.send(setup);
    await client.closed;
    const calls = [
      {name: 'f', args: {x: 1}, id: 'function-call-1000000000000000001'},
      {name: 'g', args: {}, id: 'function-call-1000000000000000002'},
      {name: 'h', args: {}, id: 'own'},
    ];
    expect(client.frames.map(({text}) => JSON.parse(text) as unknown)).toEqual([
      {setupComplete: {}},
      {serverContent: {modelTurn: {parts: [{text: 'a'}]}}},
      {serverContent: {modelTurn: {parts: [{inlineData: {mimeType: 'audio/pcm;rate=24000', data: 'AAAA'}}]}}},
      ...transcripts,
      {toolCall: {functionCalls: calls}},
      ...wordsTail,
    ]);
  });

  test('the words of Vertex', async () => {
    server.session(words, {noise: false});
    const client = await dial(server, {path: vertexPath});
    client.send(setup);
    await client.closed;
    const calls = [
      {name: 'f', args: {x: 1}},
      {name: 'g', args: {}},
      {name: 'h', args: {}, id: 'own'},
    ];
    expect(client.frames.map(({text}) => JSON.parse(text) as unknown)).toEqual([
      {setupComplete: {sessionId: 'session-0'}},
      {serverContent: {modelTurn: {role: 'model', parts: [{text: 'a'}]}}},
      {serverContent: {modelTurn: {role: 'model', parts: [{inlineData: {mimeType: 'audio/pcm', data: 'AAAA'}}]}}},
      ...transcripts,
      {toolCall: {functionCalls: calls}},
      ...wordsTail,
    ]);
  });

  test('what is sent together in one TCP write', async () => {
    server.session(async (session) => {
      await session.message('setup');
      session.together(() => {
        session.send({setupComplete: {}});
        session.say('a');
        session.goAway('1s');
      });
    });
    const client = await dial(server);
    client.send(setup);
    while (client.frames.length < 4) await client.next();
    expect(client.reads).toHaveLength(1);
    expect(client.frames.map(({text}) => Object.keys(JSON.parse(text) as object))).toEqual([
      ['setupComplete'],
      ['serverContent'],
      [],
      ['goAway'],
    ]);
  });
});

describe('GeminiLiveServer reads', () => {
  test('text and binary frames, in camel and in snake case, and keeps what came', async () => {
    const client = await dial(server);
    const before = performance.now();
    client.send(setup);
    client.webSocket.send(Buffer.from('{"client_content":{"turns":[],"turn_complete":true}}'), {binary: true});
    client.send({realtime_input: {text: 'rt'}});
    client.send({});
    client.send({contextUpdate: {}});
    await client.session.message('contextUpdate');
    const {received} = client.session;
    expect(received.map(({receivedAt, ...rest}) => [receivedAt >= before, rest])).toEqual([
      [true, {index: 0, kind: 'setup', body: setup, payload: setup.setup, text: JSON.stringify(setup), binary: false}],
      [
        true,
        {
          index: 1,
          kind: 'clientContent',
          body: {client_content: {turns: [], turn_complete: true}},
          payload: {turns: [], turn_complete: true},
          text: '{"client_content":{"turns":[],"turn_complete":true}}',
          binary: true,
        },
      ],
      [
        true,
        {
          index: 2,
          kind: 'realtimeInput',
          body: {realtime_input: {text: 'rt'}},
          payload: {text: 'rt'},
          text: '{"realtime_input":{"text":"rt"}}',
          binary: false,
        },
      ],
      [true, {index: 3, kind: 'unknown', body: {}, payload: {}, text: '{}', binary: false}],
      [true, {index: 4, kind: 'contextUpdate', body: {contextUpdate: {}}, payload: {}, text: '{"contextUpdate":{}}', binary: false}],
    ]);
    expect(client.session.setup).toEqual(setup.setup);
  });

  test('messages for a script by kind, and leaves the others for later', async () => {
    const {promise: taken, resolve} = Promise.withResolvers<string[]>();
    server.session(async (session) => {
      await session.acknowledge();
      const content = await session.next('clientContent');
      resolve([content.text, (await session.next()).text, (await session.next()).text]);
    });
    const client = await dial(server);
    for (const message of [setup, {realtimeInput: {text: 'a'}}, {realtimeInput: {text: 'b'}}, {clientContent: {}}]) client.send(message);
    expect(await taken).toEqual(['{"clientContent":{}}', '{"realtimeInput":{"text":"a"}}', '{"realtimeInput":{"text":"b"}}']);
    // A test that looks on takes nothing.
    expect((await client.session.message('realtimeInput', 1)).payload).toEqual({text: 'b'});
  });

  test('nothing more after the close, and tells who waits', async () => {
    const client = await dial(server);
    const {session} = client;
    const waits = [session.next('toolResponse'), session.next(), session.message('realtimeInput', 2), session.delay(60_000)];
    // Nobody listens to this one.
    void session.next('contextUpdate');
    client.webSocket.close(4001, 'enough');
    const told = await Promise.all(waits.map((wait) => wait.then(String, (error: unknown) => (error as Error).message)));
    expect(told).toEqual([
      'The session was closed (4001) before toolResponse came',
      'The session was closed (4001) before another message came',
      'The session was closed (4001) before realtimeInput 2 came',
      'The session was closed before a delay was over',
    ]);
    await expect(session.next()).rejects.toThrow('The session was closed (4001) before another message came');
    await expect(session.delay(1)).rejects.toThrow('closed');
  });
});

describe('GeminiLiveServer lets in', () => {
  const gemini = 'ws/google.ai.generativelanguage';
  const key = {'x-goog-api-key': 'right'};
  test.each<[path: string, headers: Record<string, string>, expected: object]>([
    [`//${gemini}.v1beta.GenerativeService.BidiGenerateContent?key=right`, {}, {apiVersion: 'v1beta', backend: 'gemini'}],
    [`/${gemini}.v1.GenerativeService.BidiGenerateContent?key=right`, {}, {apiVersion: 'v1', backend: 'gemini'}],
    [`/a/b/${gemini}.v1alpha.GenerativeService.BidiGenerateContent`, key, {apiVersion: 'v1alpha', constrained: false}],
    [
      `//${gemini}.v1alpha.GenerativeService.BidiGenerateContentConstrained?access_token=auth_tokens/x`,
      {},
      {apiVersion: 'v1alpha', constrained: true},
    ],
    [
      `/${gemini}.v1alpha.GenerativeService.BidiGenerateContentConstrained`,
      {authorization: 'Token auth_tokens/x'},
      {apiVersion: 'v1alpha', constrained: true},
    ],
    ['//ws/google.cloud.aiplatform.v1beta1.LlmBidiService/BidiGenerateContent', key, {apiVersion: 'v1beta1', backend: 'vertex'}],
    [
      '/proxy//ws/google.cloud.aiplatform.v1.LlmBidiService/BidiGenerateContent',
      {authorization: 'Bearer T'},
      {apiVersion: 'v1', backend: 'vertex'},
    ],
  ])('%s', async (path, headers, expected) => {
    await using strict = await GeminiLiveServer.start({apiKey: 'right'});
    const {session} = await dial(strict, {path, options: {headers}});
    expect(session.request).toMatchObject({...expected, path: path.split('?')[0]});
    expect(session.request.headers).toMatchObject(headers);
    expect(session.refusal).toBeUndefined();
  });

  test.each([
    `/ws/google.ai.generativelanguage.v1beta.GenerativeService.BidiGenerateContentConstrained?access_token=auth_tokens/x`,
    '/ws/google.ai.generativelanguage.v9.GenerativeService.BidiGenerateContent?key=k',
    '/v1beta/models/m:generateContent?key=k',
    '/',
  ])('nobody on another path: %s', async (path) => {
    expect(await refusedHandshake(server, path)).toEqual({
      status: 404,
      contentType: 'text/html; charset=UTF-8',
      body: '<!DOCTYPE html>\n<html lang=en>\n  <title>Error 404 (Not Found)!!1</title>\n',
    });
    const [session] = server.sessions;
    expect([session?.refusal, session?.request.apiVersion]).toEqual([{code: 404, reason: 'HTTP 404'}, '']);
    expect(await session?.closed).toMatchObject({code: 1006, early: false});
  });

  const unknown =
    "Method doesn't allow unregistered callers (callers without established identity). " +
    'Please use API Key or other form of API consumer identity to call this API.';
  const invalid = 'API key not valid. Please pass a valid API key.';

  test.each<[path: string, headers: Record<string, string>, message: string]>([
    [geminiPath.replace('?key=k', ''), {}, unknown],
    [geminiPath.replace('=k', '=wrong'), {}, invalid],
    [geminiPath.replace('?key=k', ''), {'x-goog-api-key': 'wrong'}, invalid],
    [geminiPath.replace('?key=k', ''), {authorization: 'Bearer T'}, unknown],
    [vertexPath.replace('?key=k', ''), {authorization: 'Bearer '}, unknown],
    [`/${gemini}.v1alpha.GenerativeService.BidiGenerateContentConstrained?key=right`, {}, unknown],
    [`/${gemini}.v1alpha.GenerativeService.BidiGenerateContentConstrained?access_token=right`, {}, invalid],
  ])('nobody without a valid key: %s %o', async (path, headers, message) => {
    await using strict = await GeminiLiveServer.start({apiKey: 'right', sessions: [[]]});
    const {status, contentType, body} = await refusedHandshake(strict, path, headers);
    expect([status, contentType]).toEqual([403, 'application/json; charset=UTF-8']);
    expect(body).toBe(`${JSON.stringify({error: {code: 403, message, status: 'PERMISSION_DENIED'}}, null, 2)}\n`);
    expect(strict.sessions.map(({refusal}) => refusal)).toEqual([{code: 403, reason: message}]);
    // A refused client takes no script.
    expect(strict.unusedSessions).toBe(1);
  });

  test('nobody without a valid key, by a close frame where told so', async () => {
    await using strict = await GeminiLiveServer.start({apiKey: 'right', keyRefusal: 'close'});
    const wrong = await dial(strict);
    expect(await wrong.closed).toEqual({code: 1007, reason: invalid});
    const missing = await dial(strict, {path: geminiPath.replace('?key=k', '')});
    expect(await missing.closed).toEqual({code: 1008, reason: unknown.slice(0, 123)});
    expect(missing.session.refusal).toEqual({code: 1008, reason: unknown});
  });

  test('no plain HTTP request', async () => {
    expect((await fetch(`${server.url}${geminiPath.slice(1)}`)).status).toBe(404);
    expect(server.sessions).toEqual([]);
  });
});

describe("GeminiLiveServer talks with the SDK's client", () => {
  test('through a whole turn with a call', async () => {
    server.session(
      async (session) => {
        await session.acknowledge();
        await session.next('clientContent');
        session.toolCall([{name: 'get_weather', args: {city: 'Paris'}, id: 'c1'}]);
        await session.next('toolResponse');
        session.say('It rains.');
        session.completeGeneration();
        session.completeTurn({totalTokenCount: 3});
        session.close(1000, 'done');
      },
      {noise: false},
    );
    const {messages, callbacks, closed} = listener();
    const ai = new GoogleGenAI({apiKey: 'k', apiVersion: 'v1beta', httpOptions: {baseUrl: server.url}});
    const live = await ai.live.connect({model: 'gemini-live-2.5-flash-preview', callbacks});
    live.sendClientContent({turns: 'Weather?'});
    await expect.poll(() => messages.length).toBe(2);
    live.sendToolResponse({functionResponses: [{id: 'c1', name: 'get_weather', response: {sky: 'rain'}}]});
    expect(await closed).toBe(1000);
    expect(messages).toEqual([
      {setupComplete: {}},
      {toolCall: {functionCalls: [{name: 'get_weather', args: {city: 'Paris'}, id: 'c1'}]}},
      {serverContent: {modelTurn: {parts: [{text: 'It rains.'}]}}},
      {serverContent: {generationComplete: true}},
      {serverContent: {turnComplete: true}, usageMetadata: {totalTokenCount: 3}},
    ]);
    const [session] = server.sessions;
    expect(session?.request.path).toBe(geminiPath.split('?')[0]);
    expect(session?.received.map(({body}) => body)).toEqual([
      {setup: {model: 'models/gemini-live-2.5-flash-preview'}},
      {clientContent: {turns: [{parts: [{text: 'Weather?'}], role: 'user'}], turnComplete: true}},
      {toolResponse: {functionResponses: [{id: 'c1', name: 'get_weather', response: {sky: 'rain'}}]}},
    ]);
    expect(await session?.closed).toMatchObject({code: 1000, reason: 'done', early: false});
  });

  test('of Vertex, with a key', async () => {
    const {messages, callbacks} = listener();
    const ai = new GoogleGenAI({vertexai: true, apiKey: 'k', httpOptions: {baseUrl: server.url}});
    const live = await ai.live.connect({model: 'gemini-live-2.5-flash', callbacks});
    expect(messages).toEqual([{setupComplete: {sessionId: 'session-0'}}]);
    const [session] = server.sessions;
    expect(session?.request).toMatchObject({backend: 'vertex', apiVersion: 'v1beta1'});
    live.close();
    expect(await session?.closed).toMatchObject({early: true, code: 1005});
  });

  test('that has an ephemeral token', async () => {
    const ai = new GoogleGenAI({apiKey: 'auth_tokens/abc', apiVersion: 'v1alpha', httpOptions: {baseUrl: server.url}});
    const live = await ai.live.connect({model: 'gemini-live-2.5-flash-preview', callbacks: listener().callbacks});
    expect(server.sessions[0]?.request).toMatchObject({constrained: true});
    live.close();
  });

  test('that sends all that a setup can hold', async () => {
    const ai = new GoogleGenAI({apiKey: 'k', apiVersion: 'v1beta', httpOptions: {baseUrl: server.url}});
    const live = await ai.live.connect({
      model: 'gemini-live-2.5-flash-preview',
      callbacks: listener().callbacks,
      config: {
        responseModalities: ['AUDIO' as never],
        temperature: 0.5,
        topP: 0.9,
        topK: 10,
        maxOutputTokens: 100,
        seed: 1,
        mediaResolution: 'MEDIA_RESOLUTION_LOW' as never,
        speechConfig: {voiceConfig: {prebuiltVoiceConfig: {voiceName: 'Puck'}}},
        thinkingConfig: {includeThoughts: true},
        enableAffectiveDialog: true,
        systemInstruction: 'Be brief.',
        tools: [
          {
            functionDeclarations: [
              {name: 'f', description: 'd', behavior: 'NON_BLOCKING' as never, parametersJsonSchema: {type: 'object'}},
            ],
          },
          {googleSearch: {}},
        ],
        sessionResumption: {},
        inputAudioTranscription: {},
        outputAudioTranscription: {},
        realtimeInputConfig: {automaticActivityDetection: {disabled: true}},
        contextWindowCompression: {triggerTokens: '2000', slidingWindow: {targetTokens: '1000'}},
        proactivity: {proactiveAudio: true},
      },
    });
    live.sendRealtimeInput({activityStart: {}});
    live.sendRealtimeInput({audio: {data: 'AAAA', mimeType: 'audio/pcm;rate=16000'}});
    live.sendRealtimeInput({activityEnd: {}});
    live.sendClientContent({});
    const [session] = server.sessions;
    await session?.message('clientContent');
    expect(session?.refusal).toBeUndefined();
    expect(session?.received.map(({kind}) => kind)).toEqual(['setup', 'realtimeInput', 'realtimeInput', 'realtimeInput', 'clientContent']);
    live.close();
  });
});

describe('GeminiLiveServer plays', () => {
  test('scripts in their order, as functions and as steps', async () => {
    await using queued = await GeminiLiveServer.start({
      sessions: [['setup', {setupComplete: {}}, 'clientContent', (session) => session.say('steps')]],
      noise: false,
    });
    queued.session(async (session) => {
      await session.acknowledge({sessionId: 'mine'});
    });
    expect(queued.unusedSessions).toBe(2);
    const first = await dial(queued);
    first.send(setup);
    expect(await nextMessage(first)).toEqual({setupComplete: {}});
    first.send({clientContent: {}});
    expect(await nextMessage(first)).toEqual({serverContent: {modelTurn: {parts: [{text: 'steps'}]}}});
    const second = await dial(queued);
    second.send(setup);
    expect(await nextMessage(second)).toEqual({setupComplete: {sessionId: 'mine'}});
    // Without a script: acknowledged, then silent.
    const third = await dial(queued);
    third.send(setup);
    expect(await nextMessage(third)).toEqual({setupComplete: {}});
    expect(queued.sessions.map(({index}) => index)).toEqual([0, 1, 2]);
    expect(queued.sessions.every(({isClosed}) => !isClosed)).toBe(true);
  });

  test('no more where a script throws, and says so', async () => {
    const oops = new Error('oops');
    server.session(async () => {
      await Promise.reject(oops);
    });
    const client = await dial(server);
    expect(await client.closed).toEqual({code: 1011, reason: 'The script of session 0 threw: oops'});
    expect(client.session.scriptError).toBe(oops);
  });

  test('nothing that the connection no longer takes', async () => {
    const {promise: ended, resolve} = Promise.withResolvers<void>();
    server.session(async (session) => {
      await session.closed;
      session.say('lost');
      session.close(1000);
      session.drop();
      resolve();
      await session.next();
    });
    const client = await dial(server);
    client.webSocket.terminate();
    await ended;
    await roundTrip(server);
    expect(client.session.scriptError).toBeUndefined();
    expect(await client.session.closed).toMatchObject({early: true, code: 1006});
  });

  test('on, when the clock of a test stands still', async () => {
    vi.useFakeTimers();
    try {
      server.session(async (session) => {
        await session.acknowledge();
        await session.delay(20);
        session.close();
      });
      const client = await dial(server);
      client.send(setup);
      await client.closed;
      expect((await client.session.closed).afterMs).toBeGreaterThan(19);
    } finally {
      vi.useRealTimers();
    }
  });

  test('until it is closed, which ends every connection and tells who waits', async () => {
    server.session([], {handshake: 'stall'});
    server.session([], {answerClose: false});
    server.session((session) => session.pauseReading());
    new WebSocket(`${server.url}${geminiPath}`).once('error', () => {});
    await server.nextSession();
    const clients = [await dial(server), await dial(server), await dial(server)];
    clients[0]?.webSocket.close();
    clients[2]?.webSocket.send('{');
    const waiting = server.nextSession();
    await server.close();
    await server.close();
    expect(server.sessions.map(({isClosed}) => isClosed)).toEqual([true, true, true, true]);
    expect(await Promise.all(clients.map(({closed}) => closed))).toMatchObject([{code: 1006}, {}, {}]);
    await expect(waiting).rejects.toThrow('The server was closed before another request came');
    await expect(fetch(server.url)).rejects.toThrow('fetch failed');
  });

  test('only scripts', async () => {
    await expect(GeminiLiveServer.start({sessions: 'x' as never})).rejects.toThrow('Expected `sessions` to be an array of scripts');
  });
});
