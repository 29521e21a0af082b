import {GoogleGenAI} from '@google/genai';
import {afterEach, beforeEach, describe, expect, test} from 'vitest';
import {WebSocket} from 'ws';
import {GeminiLiveServer, type LiveServerSession} from '../../lib/testing/index.ts';
import {dial, framed, geminiPath, listener, nextMessage, refusedHandshake, roundTrip, setup} from './live-client.ts';

let server: GeminiLiveServer;
beforeEach(async () => {
  server = await GeminiLiveServer.start();
});
afterEach(() => server.close());

describe('GeminiLiveServer tells how a connection ended', () => {
  test.each<[how: string, end: (webSocket: WebSocket) => void, expected: object]>([
    ['the client terminated', (webSocket) => webSocket.terminate(), {code: 1006, reason: '', early: true}],
    ['the client closed', (webSocket) => webSocket.close(4001, 'bye'), {code: 4001, reason: 'bye', early: true}],
    ['the client closed without a code', (webSocket) => webSocket.close(), {code: 1005, reason: '', early: true}],
  ])('when %s', async (_, end, expected) => {
    const client = await dial(server);
    const {session} = client;
    expect(session.isClosed).toBe(false);
    end(client.webSocket);
    const {afterMs, ...rest} = await session.closed;
    expect(rest).toEqual(expected);
    expect(afterMs).toBeGreaterThan(0);
    expect(session.isClosed).toBe(true);
  });

  test.each<[how: string, end: (session: LiveServerSession) => unknown, expected: object]>([
    ['closed', (session) => session.close(1011, 'Internal error encountered.'), {code: 1011, reason: 'Internal error encountered.'}],
    ['closed with no more to say', (session) => session.close(), {code: 1000, reason: ''}],
    ['closed with a long reason', (session) => session.close(1007, `${'é'.repeat(61)}éé`), {code: 1007, reason: 'é'.repeat(61)}],
    ['dropped the connection', (session) => session.drop(), {code: 1006, reason: ''}],
    ['was closed', () => server.close(), {code: 1006, reason: ''}],
  ])('when the server %s', async (_, end, expected) => {
    const {session, closed} = await dial(server);
    await end(session);
    expect(await closed).toEqual(expected);
    expect(await session.closed).toMatchObject({...expected, early: false});
  });

  test('by the one who was first', async () => {
    const client = await dial(server);
    client.session.close(1008, 'server');
    client.webSocket.close(4001, 'client');
    expect(await client.session.closed).toMatchObject({code: 1008, reason: 'server', early: false});
    const other = await dial(server);
    other.webSocket.close(4001, 'client');
    await other.session.closed;
    other.session.close(1008, 'server');
    expect(await other.session.closed).toMatchObject({code: 4001, early: true});
  });
});

describe('GeminiLiveServer misbehaves', () => {
  const connect = (): {readonly connecting: Promise<unknown>; readonly heard: ReturnType<typeof listener>} => {
    const heard = listener();
    const ai = new GoogleGenAI({apiKey: 'k', apiVersion: 'v1beta', httpOptions: {baseUrl: server.url}});
    const connecting = ai.live.connect({model: 'gemini-live-2.5-flash-preview', callbacks: heard.callbacks});
    connecting.catch(() => {});
    return {connecting, heard};
  };

  test('by never answering the handshake, until the client leaves', async () => {
    server.session(['setup'], {handshake: 'stall'});
    const webSocket = new WebSocket(`${server.url}${geminiPath}`);
    const failed = new Promise<Error>((resolve) => webSocket.once('error', resolve));
    const session = await server.nextSession();
    expect([webSocket.readyState, session.isClosed]).toEqual([WebSocket.CONNECTING, false]);
    webSocket.terminate();
    expect((await failed).message).toBe('WebSocket was closed before the connection was established');
    expect(await session.closed).toMatchObject({early: true, code: 1006});
    expect([session.refusal, session.received]).toEqual([undefined, []]);
  });

  test('by dropping a handshake that it never answered', async () => {
    server.session([], {handshake: 'stall'});
    const webSocket = new WebSocket(`${server.url}${geminiPath}`);
    const failed = new Promise<Error>((resolve) => webSocket.once('error', resolve));
    const session = await server.nextSession();
    session.close(1011);
    expect((await failed).message).toBe('socket hang up');
    expect(await session.closed).toMatchObject({early: false, code: 1006});
  });

  test.each([
    [{status: 503}, 'application/json; charset=UTF-8', /"message": "The model is overloaded/],
    [{status: 500, body: {error: 'x'}}, 'application/json; charset=UTF-8', /^\{\n {2}"error": "x"\n\}\n$/],
    [{status: 502, body: 'gate', headers: {'Content-Type': 'text/plain'}}, 'text/plain', /^gate$/],
  ])('by refusing the handshake with %o', async (handshake, contentType, body) => {
    server.session(['setup'], {handshake});
    expect(await refusedHandshake(server, geminiPath)).toEqual({
      status: handshake.status,
      contentType,
      body: expect.stringMatching(body) as unknown,
    });
    const [session] = server.sessions;
    expect(session?.refusal).toEqual({code: handshake.status, reason: `HTTP ${handshake.status}`});
    expect(await session?.closed).toMatchObject({early: false});
  });

  test('by a refused handshake, which the SDK tells', async () => {
    server.session([], {handshake: {status: 503}});
    await expect(connect().connecting).rejects.toThrow('Unexpected server response: 503');
  });

  test('by never acknowledging the setup', async () => {
    server.session([], {});
    const client = await dial(server);
    client.send(setup);
    await client.session.message('setup');
    await roundTrip(server);
    expect([client.frames, client.session.isClosed]).toEqual([[], false]);
  });

  test.each([1007, 1008, 1011])('by a close with %i before the setup is complete', async (code) => {
    server.session(['setup', (session) => session.close(code, 'No.')]);
    const {connecting, heard} = connect();
    await expect(connecting).rejects.toThrow(`Live connection closed before setup completed (code ${code}): No.`);
    expect(await heard.closed).toBe(code);
  });

  test("by leaving the client's close frame without an answer", async () => {
    server.session(['setup', {setupComplete: {}}], {answerClose: false});
    const client = await dial(server);
    client.webSocket.close(4001, 'bye');
    await roundTrip(server);
    // It goes on as if nothing had come.
    client.session.say('still here');
    expect(await nextMessage(client)).toMatchObject({serverContent: {}});
    expect([client.session.isClosed, client.webSocket.readyState]).toEqual([false, WebSocket.CLOSING]);
    client.webSocket.terminate();
    expect(await client.session.closed).toMatchObject({early: true, code: 4001, reason: 'bye'});
    expect(await client.closed).toEqual({code: 1006, reason: ''});
  });

  test("by not answering, but for the answer to the server's own close frame", async () => {
    server.session([], {answerClose: false});
    const client = await dial(server);
    client.session.close(1011, 'No.');
    expect(await client.session.closed).toMatchObject({early: false, code: 1011, reason: 'No.'});
    server.session([], {answerClose: false});
    const other = await dial(server);
    other.webSocket.close(4001);
    await roundTrip(server);
    other.session.close(1011, 'Late.');
    expect(await other.closed).toEqual({code: 1011, reason: 'Late.'});
    expect(await other.session.closed).toMatchObject({early: true, code: 4001});
  });

  test('by not reading for a while', async () => {
    server.session((session) => session.pauseReading());
    const client = await dial(server);
    const {session} = client;
    client.send(setup);
    client.webSocket.close(1000, 'read late');
    await roundTrip(server);
    session.say('a');
    expect(await nextMessage(client)).toMatchObject({serverContent: {}});
    expect([session.received, session.isClosed]).toEqual([[], false]);
    session.resumeReading();
    expect(await session.closed).toMatchObject({early: true, code: 1000, reason: 'read late'});
    expect(session.setup).toEqual(setup.setup);
  });

  test('by not reading at all, so that what the client sends backs up', async () => {
    server.session((session) => session.pauseReading());
    const client = await dial(server);
    client.webSocket.send(Buffer.alloc(32 * 1024 * 1024));
    await expect.poll(() => client.webSocket.bufferedAmount).toBeGreaterThan(0);
    client.webSocket.terminate();
    client.session.drop();
    expect(await client.session.closed).toMatchObject({code: 1006, early: false});
    expect(client.session.received).toEqual([]);
  });

  test('by frames that are not JSON, first and later, text and binary', async () => {
    server.session(async (session) => {
      await session.next('setup');
      session.sendRaw('<html>', {binary: false});
      session.send({setupComplete: {}});
      session.sendRaw('{"serverContent":');
      session.sendRaw(new Uint8Array([0xff, 0xfe]));
    });
    const client = await dial(server);
    client.send(setup);
    expect([await client.next(), await client.next(), await client.next(), await client.next()]).toEqual([
      {text: '<html>', binary: false},
      framed({setupComplete: {}}),
      {text: '{"serverContent":', binary: true},
      {text: '\ufffd\ufffd', binary: true},
    ]);
  });

  test('by odd messages of its own, without a fault', async () => {
    const {session} = await dial(server);
    session.send({toolCall: {functionCalls: 'x'}, toolCallCancellation: {ids: 5}, serverContent: null});
    session.send({toolCall: null, sessionResumptionUpdate: null});
    expect(session.isClosed).toBe(false);
  });
});
