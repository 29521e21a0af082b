import {describe, expect, test} from 'vitest';

import {Gemini, type LiveFrame} from '../../../lib/gemini/index.ts';
import {GeminiLiveServer} from '../../../lib/testing/index.ts';
import {rejection} from '../asking.ts';
import {authClient, key, liveModelAt, noteUnhandledRejections, readToEnd, silent, vertexModelAt} from './connecting.ts';

/** Frames without their times, which are checked. */
function tracer(): {readonly onLiveFrame: (frame: LiveFrame) => void; readonly frames: Omit<LiveFrame, 'timestamp'>[]} {
  const frames: Omit<LiveFrame, 'timestamp'>[] = [];
  const began = Date.now();
  return {
    frames,
    onLiveFrame: ({timestamp, ...frame}) => {
      expect(timestamp).toBeGreaterThanOrEqual(began);
      expect(timestamp).toBeLessThanOrEqual(Date.now());
      frames.push(frame);
    },
  };
}

describe('`onLiveFrame`', () => {
  test('is told all that goes over the wire, as it is, and when the socket opens and closes', async () => {
    await using server = await GeminiLiveServer.start({noise: false});
    server.session(async (session) => {
      await session.acknowledge();
      await session.next('realtimeInput');
      session.sendRaw('{"voiceActivity": {"type": "ACTIVITY_START"}}\n');
      session.close(1011, 'Internal error encountered.');
    });
    const {onLiveFrame, frames} = tracer();
    await using connection = await liveModelAt(server, {onLiveFrame}).connect(silent);
    await connection.sendRealtime({text: 'rt'});
    await readToEnd(connection);

    const url = `${server.url.replace('http', 'ws')}/ws/google.ai.generativelanguage.v1beta.GenerativeService.BidiGenerateContent`;
    expect(frames).toEqual([
      {direction: 'opened', data: `${url}?key=REDACTED`, connection: 1},
      {direction: 'sent', data: '{"setup":{"model":"models/gemini-live-test"}}', connection: 1},
      {direction: 'received', data: '{\n  "setupComplete": {}\n}\n', connection: 1},
      {direction: 'sent', data: '{"realtimeInput":{"text":"rt"}}', connection: 1},
      {direction: 'received', data: '{"voiceActivity": {"type": "ACTIVITY_START"}}\n', connection: 1},
      {direction: 'closed', data: '1011 Internal error encountered.', connection: 1},
    ]);
  });

  test('is told what cannot be read, and why the connection was given up', async () => {
    await using server = await GeminiLiveServer.start({noise: false});
    server.session(['setup', (session) => session.sendRaw('not JSON')]);
    const {onLiveFrame, frames} = tracer();
    await rejection(liveModelAt(server, {onLiveFrame}).connect(silent));
    expect(frames.slice(2)).toEqual([
      {direction: 'received', data: 'not JSON', connection: 1},
      {direction: 'closed', data: '1000 PROTOCOL_ERROR', connection: 1},
    ]);
  });

  test('can tell the connections of a model apart, and hears nothing of one that never opened', async () => {
    await using server = await GeminiLiveServer.start({noise: false});
    server.session((session) => session.acknowledge());
    server.session([], {handshake: {status: 503}});
    const {onLiveFrame, frames} = tracer();
    const model = liveModelAt(server, {onLiveFrame});
    const first = await model.connect(silent);
    await rejection(model.connect(silent));
    const third = await model.connect(silent);
    await third.close();
    await first.close();
    expect(frames.map(({connection, direction}) => `${connection} ${direction}`)).toEqual([
      '1 opened',
      '1 sent',
      '1 received',
      '3 opened',
      '3 sent',
      '3 received',
      '3 closed',
      '1 closed',
    ]);
  });

  test('is never told a key, wherever it stands and however it is escaped', async () => {
    const odd = `k/e+y="'ä`;
    await using server = await GeminiLiveServer.start({noise: false, strict: false});
    server.session(async (session) => {
      await session.acknowledge();
      session.send({serverContent: {modelTurn: {parts: [{text: `your key is ${odd}`}]}}});
      await session.next('realtimeInput');
      session.close(1008, `key ${odd} expired`);
    });
    const {onLiveFrame, frames} = tracer();
    const baseUrl = server.url.replace('://', '://me:pass%20word@');
    await using connection = await new Gemini({model: 'm', apiKey: odd, httpOptions: {baseUrl}, onLiveFrame}).connect(silent);
    await connection.sendRealtime({text: `mine is ${odd}`});

    const {error, responses} = await readToEnd(connection);

    const told = frames.map(({data}) => data).join('\n');
    expect(told.match(/REDACTED/g)).toHaveLength(5);
    for (const secret of [odd, encodeURIComponent(odd), 'k/e', 'k%2F', 'pass']) expect(told).not.toContain(secret);
    expect((error as Error).message).toBe('key REDACTED expired');
    // What the model says is passed on as it is.
    expect(responses[0]?.content?.parts).toEqual([{text: `your key is ${odd}`}]);
  });

  test.each([
    {what: 'an ephemeral token', secret: 'auth_tokens/abc', options: {apiKey: 'auth_tokens/abc'}},
    {what: 'a key in a header', secret: 'HEADER-KEY', options: {httpOptions: {headers: {'X-Goog-Api-Key': 'HEADER-KEY'}}}},
    {what: 'a token in a header', secret: 'H3ADER', options: {httpOptions: {headers: {authorization: 'Bearer H3ADER'}}}},
  ])('is never told $what', async ({secret, options}) => {
    await using server = await GeminiLiveServer.start({noise: false});
    const {onLiveFrame, frames} = tracer();
    await using connection = await liveModelAt(server, {
      ...options,
      onLiveFrame,
      httpOptions: {baseUrl: server.url, ...options.httpOptions},
    }).connect(silent);
    await connection.sendRealtime({text: `it is ${secret}`});
    expect(frames.at(-1)).toMatchObject({direction: 'sent', data: '{"realtimeInput":{"text":"it is REDACTED"}}'});
    expect(JSON.stringify(frames)).not.toContain(secret);
  });

  test('is never told the token of a login', async () => {
    await using server = await GeminiLiveServer.start({noise: false});
    const {onLiveFrame, frames} = tracer();
    await using connection = await vertexModelAt(server, {onLiveFrame}).connect(silent);
    await connection.sendRealtime({text: 'it is T0KEN'});
    expect(frames.at(-1)).toMatchObject({data: '{"realtimeInput":{"text":"it is REDACTED"}}'});
  });

  test.each([
    {
      what: 'throws',
      onLiveFrame: () => {
        throw new Error('mine');
      },
    },
    // An async function passes for one that returns nothing.
    {what: 'rejects', onLiveFrame: (() => Promise.reject(new Error('mine'))) as () => void},
  ])('that $what disturbs nothing', async ({onLiveFrame}) => {
    const checkUnhandled = noteUnhandledRejections();
    {
      await using server = await GeminiLiveServer.start({noise: false});
      server.session(async (session) => {
        await session.acknowledge();
        await session.next('clientContent');
        session.say('fine');
        session.close(1000, 'bye');
      });
      await using connection = await liveModelAt(server, {onLiveFrame}).connect(silent);
      await connection.sendContent({parts: [{text: 'a'}]});
      const {responses, error} = await readToEnd(connection);
      expect(responses).toEqual([{content: {role: 'model', parts: [{text: 'fine'}]}, partial: true}]);
      expect(error).toMatchObject({closeCode: 1000, message: 'bye'});
    }
    await checkUnhandled();
  });

  test('may close the connection that it is told of', async () => {
    await using server = await GeminiLiveServer.start({noise: false});
    const told: string[] = [];
    const closing = Promise.withResolvers<() => Promise<void>>();
    const model = liveModelAt(server, {
      onLiveFrame: ({direction, data}) => {
        told.push(direction);
        if (data.includes('stop')) void closing.promise.then((close) => close());
      },
    });
    const connection = await model.connect(silent);
    closing.resolve(() => connection.close());
    (await server.nextSession()).say('stop');
    expect((await readToEnd(connection)).error).toBeUndefined();
    expect(told).toEqual(['opened', 'sent', 'received', 'received', 'closed']);
  });
});

test('a login that fails does not tell its token', async () => {
  const token = 'T0KEN';
  const failing = authClient(async () => new Headers({authorization: `Bearer ${token}`}));
  await using server = await GeminiLiveServer.start();
  server.session([], {handshake: {status: 401, body: `bad ${token} and ${key}`}});
  const model = new Gemini({model: 'm', project: 'p', googleAuthOptions: {authClient: failing}, httpOptions: {baseUrl: server.url}});
  expect(await rejection(model.connect(silent))).toMatchObject({code: 'UNAUTHENTICATED', message: `bad REDACTED and ${key}`});
});
