import {afterEach, describe, expect, test, vi} from 'vitest';

import type {LlmResponse} from '../../../lib/models/llm-response.ts';
import {textOf} from '../../../lib/gemini/live/live-socket.ts';
import {GeminiLiveServer, type LiveServerSession} from '../../../lib/testing/index.ts';
import {rejection} from '../asking.ts';
import {liveModelAt, readToEnd, settle, silent, vertexModelAt} from './connecting.ts';

afterEach(() => vi.restoreAllMocks());

/** What is made of the frames that follow the setup. */
async function received(send: (session: LiveServerSession) => void, backend: 'gemini' | 'vertex' = 'gemini'): Promise<LlmResponse[]> {
  await using server = await GeminiLiveServer.start();
  server.session(async (session) => {
    await session.acknowledge();
    session.together(() => send(session));
    session.close(1000, 'done');
  });
  await using connection = await (backend === 'gemini' ? liveModelAt(server) : vertexModelAt(server)).connect(silent);
  const {responses, error} = await readToEnd(connection);
  expect(error).toMatchObject({closeCode: 1000, message: 'done'});
  return responses;
}

/** What is made of messages, one after the other. */
async function madeOf(...messages: readonly Record<string, unknown>[]): Promise<LlmResponse[]> {
  return await received((session) => {
    for (const message of messages) session.send(message);
  });
}

const audio = {inlineData: {mimeType: 'audio/pcm;rate=24000', data: 'AAAA'}};
const turn = (...parts: readonly object[]): Record<string, unknown> => ({serverContent: {modelTurn: {parts}}});

describe('a response', () => {
  test("is a piece of the model's turn, its parts as they came", async () => {
    const code = {executableCode: {language: 'PYTHON', code: 'print(1)'}};
    const thought = {text: 'hm', thought: true, thoughtSignature: 'S'};
    expect(await madeOf(turn({text: 'a'}), turn(audio, thought), turn(code), turn({text: '', thoughtSignature: 'T'}))).toEqual([
      {content: {role: 'model', parts: [{text: 'a'}]}, partial: true},
      {content: {role: 'model', parts: [audio, thought]}, partial: true},
      {content: {role: 'model', parts: [code]}, partial: true},
      {content: {role: 'model', parts: [{text: '', thoughtSignature: 'T'}]}, partial: true},
    ]);
  });

  test('holds all calls of a message in order, with and without ids, and is whole', async () => {
    const functionCalls = [
      {id: 'function-call-1', name: 'f', args: {a: 1}},
      {name: 'f', args: {}},
      {id: 'function-call-1', name: 'g'},
    ];
    expect(await madeOf({toolCall: {functionCalls}})).toEqual([
      {content: {role: 'model', parts: functionCalls.map((functionCall) => ({functionCall}))}},
    ]);
  });

  test('is none for a list of no calls, and holds what else the message says', async () => {
    const usageMetadata = {promptTokenCount: 1};
    expect(await madeOf({toolCall: {functionCalls: []}}, {toolCall: {}}, {toolCall: {functionCalls: []}, usageMetadata})).toEqual([
      {usageMetadata},
    ]);
  });

  test('holds a call that stands in the turn itself, and is whole then', async () => {
    const functionCall = {name: 'f', args: {}};
    expect(await madeOf(turn({functionCall}))).toEqual([{content: {role: 'model', parts: [{functionCall}]}}]);
  });

  test('holds fragments of transcripts; an empty one says nothing, and one that is finished says so', async () => {
    expect(
      await madeOf(
        {serverContent: {inputTranscription: {text: ' Hello', languageCode: 'en'}}},
        {serverContent: {outputTranscription: {}}},
        {serverContent: {outputTranscription: {text: ''}}},
        {serverContent: {outputTranscription: {text: 'I have'}}},
        {serverContent: {outputTranscription: {finished: true}}},
      ),
    ).toEqual([
      {inputTranscription: {text: ' Hello', languageCode: 'en'}},
      {outputTranscription: {text: 'I have'}},
      {outputTranscription: {finished: true}},
    ]);
  });

  test('tells the end of a turn, of its generation, and an interruption', async () => {
    expect(
      await madeOf(
        {serverContent: {interrupted: true}},
        {serverContent: {generationComplete: true}},
        {serverContent: {turnComplete: true, groundingMetadata: {}}},
        {serverContent: {turnComplete: true, groundingMetadata: {webSearchQueries: ['q']}}},
        {serverContent: {turnComplete: false, interrupted: false, generationComplete: false}},
        {serverContent: {turnComplete: true, turnCompleteReason: 'RESPONSE_REJECTED'}},
      ),
    ).toEqual([
      {interrupted: true},
      {generationComplete: true},
      {turnComplete: true},
      {turnComplete: true, groundingMetadata: {webSearchQueries: ['q']}},
      {turnComplete: true, customMetadata: {turnCompleteReason: 'RESPONSE_REJECTED'}},
    ]);
  });

  test('tells what the connection needs to know', async () => {
    expect(
      await madeOf(
        {toolCallCancellation: {ids: ['function-call-1']}},
        {toolCallCancellation: {ids: []}},
        {goAway: {timeLeft: '9.5s'}},
        {sessionResumptionUpdate: {newHandle: 'H2', resumable: true}},
        // Google's JSON leaves out what is false or empty.
        {sessionResumptionUpdate: {}},
      ),
    ).toEqual([
      {toolCallCancellation: {ids: ['function-call-1']}},
      {goAway: {timeLeft: '9.5s'}},
      {liveSessionResumptionUpdate: {newHandle: 'H2', resumable: true}},
      {liveSessionResumptionUpdate: {}},
    ]);
  });

  test('counts tokens under the same names on both backends', async () => {
    const rest = {
      promptTokenCount: 515,
      totalTokenCount: 553,
      thoughtsTokenCount: 3,
      promptTokensDetails: [{modality: 'TEXT', tokenCount: 515}],
    };
    const details = [{modality: 'AUDIO', tokenCount: 38}];
    const wanted = [{usageMetadata: {...rest, candidatesTokenCount: 38, candidatesTokensDetails: details}}];
    expect(await madeOf({usageMetadata: {...rest, responseTokenCount: 38, responseTokensDetails: details}})).toEqual(wanted);
    expect(await madeOf({usageMetadata: {...rest, candidatesTokenCount: 38, candidatesTokensDetails: details}})).toEqual(wanted);
  });

  test('holds everything that one message says', async () => {
    expect(
      await madeOf({
        serverContent: {modelTurn: {parts: [audio]}, outputTranscription: {text: 'a'}, generationComplete: true, turnComplete: true},
        usageMetadata: {totalTokenCount: 1},
        sessionResumptionUpdate: {newHandle: 'H', resumable: true},
      }),
    ).toEqual([
      {
        content: {role: 'model', parts: [audio]},
        partial: true,
        outputTranscription: {text: 'a'},
        generationComplete: true,
        turnComplete: true,
        usageMetadata: {totalTokenCount: 1},
        liveSessionResumptionUpdate: {newHandle: 'H', resumable: true},
      },
    ]);
  });

  test('is none for what says nothing or is not known, whatever its shape', async () => {
    expect(
      await madeOf(
        {},
        {serverContent: {}},
        {voiceActivity: {type: 'ACTIVITY_START', audioOffset: '0.200s'}},
        {somethingNew: {deep: [1]}},
        turn(),
        turn({text: ''}),
        {serverContent: null},
        {serverContent: 'odd', toolCall: 7, goAway: 'now', usageMetadata: null, toolCallCancellation: {ids: 'abc'}, setupComplete: null},
        {serverContent: {modelTurn: {parts: 'odd'}, inputTranscription: 'odd', groundingMetadata: [1]}},
        {toolCall: {functionCalls: [null, 'odd']}},
        {setupComplete: {}},
      ),
    ).toEqual([]);
  });

  test('tells the id of the session first, on Vertex AI', async () => {
    expect(await received((session) => session.say('a'), 'vertex')).toEqual([
      {liveSessionId: 'session-0'},
      {content: {role: 'model', parts: [{text: 'a'}]}, partial: true},
    ]);
  });
});

describe('a frame', () => {
  const wanted = [{content: {role: 'model', parts: [{text: 'grüße 🎈'}]}, partial: true}];
  const json = JSON.stringify(turn({text: 'grüße 🎈'}));

  test('may be binary or text', async () => {
    expect(await received((session) => session.sendRaw(json, {binary: true}))).toEqual(wanted);
    expect(await received((session) => session.sendRaw(json, {binary: false}))).toEqual(wanted);
  });

  test('may come as a buffer, as an array buffer and in pieces that cut a character', () => {
    const bytes = Buffer.from(json);
    const copy = new Uint8Array(bytes).buffer;
    const pieces = Array.from(bytes, (_, at) => bytes.subarray(at, at + 1));
    expect([textOf(bytes), textOf(copy), textOf(pieces)]).toEqual([json, json, json]);
  });
});

describe('receive()', () => {
  test("has every frame in order that came with the setup's answer, before anybody reads", async () => {
    await using server = await GeminiLiveServer.start({noise: false});
    server.session(async (session) => {
      await session.next('setup');
      session.together(() => {
        session.send({sessionResumptionUpdate: {newHandle: 'early', resumable: true}});
        session.send({setupComplete: {}});
        for (let at = 0; at < 100; at += 1) session.say(String(at));
      });
      session.close();
    });
    await using connection = await liveModelAt(server).connect(silent);
    await (
      await server.nextSession()
    ).closed;
    await settle();

    const {responses, error} = await readToEnd(connection);

    expect(responses.map(({liveSessionResumptionUpdate: update, content}) => update?.newHandle ?? content?.parts?.[0]?.text)).toEqual([
      'early',
      ...Array.from({length: 100}, (_, at) => String(at)),
    ]);
    expect(error).toMatchObject({code: 'CLOSED_1000', closeCode: 1000});
  });

  test('may be called once', async () => {
    await using server = await GeminiLiveServer.start();
    await using connection = await liveModelAt(server).connect(silent);
    connection.receive();
    expect(() => connection.receive()).toThrow(expect.objectContaining({name: 'ModelError', code: 'ALREADY_RECEIVING'}));
  });

  test('ends at once by return() while a next() is pending, keeps nothing after that, and closes nothing', async () => {
    await using server = await GeminiLiveServer.start();
    await using connection = await liveModelAt(server).connect(silent);
    const session = await server.nextSession();
    const responses = connection.receive();
    const pending = responses.next();

    expect(await responses.return()).toEqual({done: true, value: undefined});

    expect(await pending).toEqual({done: true, value: undefined});
    session.say('to nobody');
    await connection.sendRealtime({text: 'still open'});
    expect(await session.message('realtimeInput')).toMatchObject({payload: {text: 'still open'}});
    expect(await responses.next()).toEqual({done: true, value: undefined});
  });

  test('gives queued reads what comes in order; at a loss the first rejects and the others are done', async () => {
    await using server = await GeminiLiveServer.start();
    await using connection = await liveModelAt(server).connect(silent);
    const session = await server.nextSession();
    const responses = connection.receive();
    const reads = [responses.next(), responses.next(), rejection(responses.next()), responses.next()] as const;

    session.together(() => {
      session.say('a');
      session.say('b');
    });
    session.drop();

    expect(await reads[0]).toMatchObject({value: {content: {parts: [{text: 'a'}]}}});
    expect(await reads[1]).toMatchObject({value: {content: {parts: [{text: 'b'}]}}});
    expect(await reads[2]).toMatchObject({code: 'CONNECTION_LOST', closeCode: 1006});
    expect(await reads[3]).toEqual({done: true, value: undefined});
    expect(await responses.next()).toEqual({done: true, value: undefined});
  });
});
