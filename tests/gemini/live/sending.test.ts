import {describe, expect, test} from 'vitest';

import type {Content} from '../../../lib/content.ts';
import type {BaseLlmConnection, RealtimeInput} from '../../../lib/models/base-llm-connection.ts';
import {newCallId} from '../../../lib/models/call-id.ts';
import type {LlmRequest} from '../../../lib/models/llm-request.ts';
import {GeminiLiveServer} from '../../../lib/testing/index.ts';
import {rejection} from '../asking.ts';
import {liveModelAt, settle, silent, vertexModelAt} from './connecting.ts';

interface Sent {
  readonly backend?: 'gemini' | 'vertex';
  readonly request?: LlmRequest;
}

/** The frames after the setup, as they went over the wire. */
async function sent(send: (connection: BaseLlmConnection) => Promise<void>, {backend, request = silent}: Sent = {}): Promise<string[]> {
  await using server = await GeminiLiveServer.start({strict: false});
  await using connection = await (backend === 'vertex' ? vertexModelAt(server) : liveModelAt(server)).connect(request);
  await send(connection);
  await connection.sendRealtime({text: 'end'});
  const session = await server.nextSession();
  // What was sent before it has come when this has.
  let at = 0;
  while ((await session.message('realtimeInput', at)).payload['text'] !== 'end') at += 1;
  return session.received.slice(1, -1).map(({text}) => text);
}

/** One message, sent as content, and refused by nothing that Google's server would refuse. */
async function sentContent(content: Content, backend?: 'gemini' | 'vertex'): Promise<unknown> {
  const [frame = ''] = await sent((connection) => connection.sendContent(content), backend && {backend});
  return JSON.parse(frame) as unknown;
}

const user = (text: string): Content => ({role: 'user', parts: [{text}]});
const uuid = '11111111-2222-4333-8444-555555555555';

describe('sendContent', () => {
  test('sends a turn of the user, byte for byte', async () => {
    expect(await sent((connection) => connection.sendContent({parts: [{text: 'hello'}], role: 'user'}))).toEqual([
      '{"clientContent":{"turns":[{"role":"user","parts":[{"text":"hello"}]}],"turnComplete":true}}',
    ]);
  });

  test('leaves out what says nothing, and keeps everything else', async () => {
    const inlineData = {mimeType: 'image/png', data: 'AAAA'};
    expect(await sentContent({parts: [{text: ''}, {text: 'a'}, {inlineData}]})).toEqual({
      clientContent: {turns: [{role: 'user', parts: [{text: 'a'}, {inlineData}]}], turnComplete: true},
    });
  });

  test('sends answers to calls by the ids that the server gave, in one message', async () => {
    const parts = [
      {functionResponse: {id: 'function-call-1', name: 'f', response: {output: 1}}},
      {functionResponse: {id: newCallId(uuid, 'function-call-1'), name: 'g', response: {output: 2}}},
      {functionResponse: {id: newCallId(uuid), name: 'h', response: {output: 3}}},
    ];
    const functionResponses = [
      {id: 'function-call-1', name: 'f', response: {output: 1}},
      {id: 'function-call-1', name: 'g', response: {output: 2}},
      {name: 'h', response: {output: 3}},
    ];
    expect(await sentContent({role: 'user', parts})).toEqual({toolResponse: {functionResponses}});
    expect(await sentContent({role: 'user', parts}, 'vertex')).toEqual({toolResponse: {functionResponses}});
  });

  test('passes `scheduling` and `willContinue` on; Vertex AI does not know the latter', async () => {
    const functionResponse = {id: 'a', name: 'f', response: {output: 1}, scheduling: 'WHEN_IDLE' as never, willContinue: true};
    const content = {role: 'user', parts: [{functionResponse}]};
    expect(await sentContent(content)).toEqual({toolResponse: {functionResponses: [functionResponse]}});
    const {willContinue: _, ...rest} = functionResponse;
    expect(await sentContent(content, 'vertex')).toEqual({toolResponse: {functionResponses: [rest]}});
  });

  test.each([
    {what: 'no parts', content: {role: 'user'}, expected: '`content` to be a content with a part that says something'},
    {what: 'blank parts', content: {role: 'user', parts: [{text: ''}, {}]}, expected: '`content` to be a content with a part that says'},
    {
      what: 'answers and words',
      content: {role: 'user', parts: [{text: 'a'}, {functionResponse: {name: 'f', response: {}}}]},
      expected: '`content.parts` to be function responses only, or none of them',
    },
  ])('of $what is an error, and nothing is sent', async ({content, expected}) => {
    const frames = await sent(async (connection) => {
      const error = await rejection(connection.sendContent(content));
      expect(error).toMatchObject({code: 'INVALID_OPTION'});
      expect((error as Error).message).toContain(expected);
    });
    expect(frames).toEqual([]);
  });
});

describe('sendHistory', () => {
  test('sends the text of what was said and asks for no reply', async () => {
    const history: Content[] = [
      user('My name is Ada.'),
      {
        role: 'model',
        parts: [
          {text: 'thinking', thought: true},
          {text: 'Hello Ada.', thoughtSignature: 'S'},
        ],
      },
      {role: 'model', parts: [{functionCall: {name: 'f', args: {}}}]},
      {role: 'user', parts: [{functionResponse: {name: 'f', response: {}}}]},
    ];
    expect(await sent((connection) => connection.sendHistory(history))).toEqual([
      '{"clientContent":{"turns":[{"role":"user","parts":[{"text":"My name is Ada."}]},{"role":"model","parts":[{"text":"Hello Ada."}]}],' +
        '"turnComplete":false}}',
    ]);
  });

  test('of nothing sends nothing', async () => {
    expect(await sent((connection) => connection.sendHistory([{role: 'model', parts: [{text: ''}]}]))).toEqual([]);
  });

  test('ends the history where the server was told to wait for one', async () => {
    const liveConnectConfig = {historyConfig: {initialHistoryInClientContent: true}} as never;
    const request = {...silent, liveConnectConfig};
    expect(await sent((connection) => connection.sendHistory([user('a')]), {request})).toEqual([
      '{"clientContent":{"turns":[{"role":"user","parts":[{"text":"a"}]}],"turnComplete":true}}',
    ]);
    expect(await sent((connection) => connection.sendHistory([]), {request})).toEqual([
      '{"clientContent":{"turns":[],"turnComplete":true}}',
    ]);
  });
});

describe('sendRealtime', () => {
  test.each<RealtimeInput>([
    {audio: {mimeType: 'audio/pcm;rate=16000', data: 'AAAA'}},
    {video: {mimeType: 'image/jpeg', data: 'AAAA'}},
    {text: 'rt'},
    {activityStart: {}},
    {activityEnd: {}},
    {audioStreamEnd: true},
  ])('sends just %j', async (input) => {
    const frames = await sent((connection) => connection.sendRealtime(input));
    expect(frames).toEqual([JSON.stringify({realtimeInput: input})]);
  });

  test.each([
    {input: {}, expected: '`input` to be one of audio, video, text, activityStart, activityEnd, audioStreamEnd, got an object'},
    {input: {text: 'a', audioStreamEnd: true}, expected: 'got "text and audioStreamEnd" (string)'},
    {input: {audio: {mimeType: 'audio/pcm', data: new Uint8Array(2)}}, expected: '`input.audio.data` to be a string in base64, got'},
    {input: {video: {data: 'AAAA'}}, expected: '`input.video.mimeType` to be a string, got undefined'},
  ])('refuses $input', async ({input, expected}) => {
    const frames = await sent(async (connection) => {
      const error = await rejection(connection.sendRealtime(input as never));
      expect(error).toMatchObject({code: 'INVALID_OPTION'});
      expect((error as Error).message).toContain(expected);
    });
    expect(frames).toEqual([]);
  });
});

describe('a send', () => {
  test('keeps its order', async () => {
    const frames = await sent(async (connection) => {
      await Promise.all(Array.from({length: 50}, (_, at) => connection.sendRealtime({text: String(at)})));
    });
    expect(frames).toEqual(Array.from({length: 50}, (_, at) => `{"realtimeInput":{"text":"${at}"}}`));
  });

  test('waits while the server does not read, and goes on when it does', async () => {
    await using server = await GeminiLiveServer.start();
    await using connection = await liveModelAt(server).connect(silent);
    const session = await server.nextSession();
    session.pauseReading();
    const audio = {mimeType: 'audio/pcm', data: 'A'.repeat(1_000_000)};
    let taken = 0;
    // More than what the operating system takes by itself.
    const sends = Array.from({length: 30}, async () => {
      await connection.sendRealtime({audio});
      taken += 1;
    });
    await Promise.all(sends.slice(0, 2));
    await settle();
    expect(taken).toBeLessThan(20);

    session.resumeReading();

    await Promise.all(sends);
    await session.message('realtimeInput', 29);
  });
});
