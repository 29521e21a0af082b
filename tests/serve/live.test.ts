import {once} from 'node:events';
import {afterEach, expect, test, vi} from 'vitest';
import type {Event, RunConfig} from 'sluice';
import {GeminiLiveServer, type GeminiLiveServerOptions, type LiveServerSession} from 'sluice/testing';
import {WebSocket} from 'ws';
import {liveModelAt} from '../live/kit.ts';
import {expectValid} from '../stories/kit.ts';
import {FakeSocket} from './fake-socket.ts';
import {Served, site, type Site, type SiteOptions} from './kit.ts';

afterEach(() => vi.unstubAllGlobals());

const HANDSHAKE = {upgrade: 'websocket', connection: 'Upgrade'};
const PATH = '/run_live?app_name=app&user_id=u&session_id=s';
const hello = {content: {role: 'user', parts: [{text: 'Hello'}]}};

/** A handler whose agent talks to a server of the Live API, with text unless told otherwise. */
async function live(options: SiteOptions = {}, server: GeminiLiveServerOptions = {}): Promise<LiveSite> {
  const api = await GeminiLiveServer.start({noise: false, ...server});
  const runConfig: RunConfig = {responseModalities: ['TEXT'], ...options.runConfig};
  return new LiveSite(api, await site({...options, runConfig, agent: {model: liveModelAt(api)}}));
}

class LiveSite implements AsyncDisposable {
  readonly api: GeminiLiveServer;
  readonly site: Site;

  constructor(api: GeminiLiveServer, it: Site) {
    this.api = api;
    this.site = it;
  }

  ask(socket: FakeSocket, path: string = PATH): Promise<Response> {
    const {host} = socket;
    return this.site.ask('GET', path, undefined, {headers: HANDSHAKE, host});
  }

  /** A client that has said hello, and what the model's server sees of it. */
  async talk(socket: FakeSocket = new FakeSocket(), path: string = PATH): Promise<{socket: FakeSocket; session: LiveServerSession}> {
    await this.ask(socket, path);
    socket.say(hello);
    const session = await this.api.nextSession();
    await session.message('clientContent');
    return {socket, session};
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.site.handler.close({timeoutMs: 0});
    await this.api[Symbol.asyncDispose]();
  }
}

function texts(sent: readonly unknown[]): string[] {
  return sent.flatMap((event) => (event as Event).content?.parts?.flatMap(({text}) => text ?? []) ?? []);
}

test('a client talks to the model, and the socket is closed with 1000 when it has said all', async () => {
  await using it = await live();
  const {socket, session} = await it.talk();
  session.say('Good day.');
  await socket.untilSent(1);
  socket.say({close: true});
  session.completeTurn();
  expect(await socket.closed).toEqual([1000, 'The run is done']);
  expect(texts(socket.sent)).toContain('Good day.');
  expect(await Promise.all(it.site.waited)).toMatchObject([{kind: 'done'}]);
  expectValid(await it.site.stored());
});

test('over real sockets, through a server of Node’s', async () => {
  await using it = await live();
  await using served = await Served.start(it.site.handler);
  const client = new WebSocket(`${served.url.replace('http', 'ws')}${PATH}`);
  // What a client says at once is not lost.
  client.once('open', () => client.send(JSON.stringify(hello)));
  const session = await it.api.nextSession();
  await session.message('clientContent');
  session.say('Good day.');
  const [data] = (await once(client, 'message')) as [Buffer];
  expect(texts([JSON.parse(data.toString())])).toEqual(['Good day.']);
  client.send(JSON.stringify({close: true}));
  session.completeTurn();
  const [code, reason] = (await once(client, 'close')) as [number, Buffer];
  expect([code, reason.toString()]).toEqual([1000, 'The run is done']);
});

test('a client that breaks the connection ends its run, and the model’s connection with it', async () => {
  await using it = await live();
  await using served = await Served.start(it.site.handler);
  const client = new WebSocket(`${served.url.replace('http', 'ws')}${PATH}`);
  client.on('error', () => {});
  client.once('open', () => client.send(JSON.stringify(hello)));
  const session = await it.api.nextSession();
  await session.message('clientContent');
  client.terminate();
  await session.closed;
  expect(it.site.errors).toEqual([]);
});

test.each(['close', 'error'] as const)('the %s of a socket ends its run at once', async (type) => {
  await using it = await live();
  const {socket, session} = await it.talk();
  socket.emit(type);
  await session.closed;
  expect(await Promise.all(it.site.waited)).toMatchObject([{kind: 'return'}]);
  expectValid(await it.site.stored());
  socket.say(hello);
  expect(it.site.errors).toEqual([]);
});

test('nothing is sent before a socket is open, and what was said before is not lost', async () => {
  await using it = await live();
  const socket = new FakeSocket(0);
  const {session} = await it.talk(socket);
  session.say('Good day.');
  session.completeTurn();
  while ((await it.site.stored()).length < 2) await new Promise((resolve) => setImmediate(resolve));
  socket.emit('open');
  await socket.untilSent(1);
  expect(texts(socket.sent.slice(0, 1))).toEqual(['Good day.']);
});

test('messages come in camelCase and snake_case, with nulls for what is absent, and several things in one', async () => {
  await using it = await live();
  const {socket, session} = await it.talk();
  socket.say({content: null, blob: {mime_type: 'audio/pcm;rate=16000', data: 'AAAA'}, activity_start: null, close: false});
  expect((await session.next('realtimeInput')).payload).toEqual({audio: {mimeType: 'audio/pcm;rate=16000', data: 'AAAA'}});
  socket.say({activity_start: {}, blob: {mimeType: 'audio/pcm', data: 'BBBB'}, activityEnd: {}});
  const heard = [];
  for (let count = 0; count < 3; count++) heard.push((await session.next('realtimeInput')).payload);
  expect(heard.flatMap((payload) => Object.keys(payload as object))).toEqual(['activityStart', 'audio', 'activityEnd']);
});

test.each<[string, unknown, number, RegExp]>([
  ['no JSON', '{"content"', 1007, /JSON/],
  ['an array', '[]', 1007, /JSON object/],
  ['an empty object', '{}', 1007, /content, blob, activityStart, activityEnd or close/],
  ['unknown fields', '{"text": "hi"}', 1007, /content, blob/],
  ['a content that is none', '{"content": "hi"}', 1007, /`content`/],
  ['what only a model says', '{"content": {"role": "model", "parts": [{"text": "x"}]}}', 1007, /`content.role`/],
  ['a blob that is no base64', '{"blob": {"mimeType": "audio/pcm", "data": "€"}}', 1007, /`input.data`/],
  ['a blob without a type', '{"blob": {"data": "AAAA"}}', 1007, /`input.mimeType`/],
  ['JSON without end', `{"content": ${'['.repeat(40_000)}${']'.repeat(40_000)}}`, 1007, /levels deep/],
  ['a binary message', new ArrayBuffer(8), 1003, /binary/],
  ['a message that is too long', JSON.stringify({a: 'x'.repeat(100_000)}), 1009, /at most 100000 bytes/],
])('%s is answered with an error, and ends the run', async (_, data, code, message) => {
  await using it = await live({maxBodyBytes: 100_000});
  const {socket, session} = await it.talk();
  socket.emit('message', data);
  const [closedWith, reason] = await socket.closed;
  expect(closedWith).toBe(code);
  expect(new TextEncoder().encode(reason).length).toBeLessThanOrEqual(123);
  expect(socket.sent.at(-1)).toMatchObject({code: 'INVALID_MESSAGE', error: expect.stringMatching(message)});
  await session.closed;
  expect(await Promise.all(it.site.waited)).toMatchObject([{kind: 'return'}]);
});

test('a client that floods is stopped at a bound', async () => {
  await using it = await live({maxBodyBytes: Infinity});
  const socket = new FakeSocket();
  await it.ask(socket);
  for (let count = 0; count < 20; count++) socket.say({blob: {mimeType: 'audio/pcm', data: 'A'.repeat(1024 * 1024)}});
  expect((await socket.closed)[0]).toBe(1008);
});

test('a run that fails is told by an error message, then 1011', async () => {
  await using it = await live({}, {apiKey: 'another'});
  const socket = new FakeSocket();
  await it.ask(socket);
  socket.say(hello);
  const [code] = await socket.closed;
  expect(code).toBe(1011);
  expect(socket.sent.at(-1)).toEqual({error: expect.stringMatching(/^The (model|server|request) [a-z ]+$/), code: expect.any(String)});
  expect(it.site.errors).toHaveLength(1);
});

test('a session that is busy is told so', async () => {
  await using it = await live();
  await it.talk();
  const second = new FakeSocket();
  await it.ask(second);
  expect((await second.closed)[0]).toBe(1011);
  expect(second.sent).toEqual([{error: expect.stringContaining('is held by run'), code: 'SESSION_BUSY'}]);
});

test('the stop route closes with 1000, and closing the handler with 1001', async () => {
  await using it = await live();
  const {socket} = await it.talk();
  expect((await it.site.json('POST', '/apps/app/users/u/sessions/s/cancel')).body).toEqual({cancelled: 1});
  expect((await socket.closed)[0]).toBe(1000);
  expect(socket.sent.at(-1)).toMatchObject({code: 'RUN_CANCELLED'});
  const {socket: next} = await it.talk();
  await it.site.handler.close({timeoutMs: 0});
  expect((await next.closed)[0]).toBe(1001);
});

test('a client that is behind is sent no more until it has caught up', async () => {
  await using it = await live();
  const {socket, session} = await it.talk();
  socket.behind = 2 * 1024 * 1024;
  for (const word of ['one', 'two', 'three']) session.say(word);
  await socket.untilSent(1);
  await socket.until(() => socket.looks > 5);
  expect(texts(socket.sent)).toEqual(['one']);
  socket.behind = 0;
  await socket.untilSent(3);
  expect(texts(socket.sent)).toEqual(['one', 'two', 'three']);
});

test('a client that stays behind ends its run at the bound of the run, and holds nothing', async () => {
  await using it = await live({runConfig: {liveBufferBytes: 10_000}});
  const {socket, session} = await it.talk();
  socket.behind = 2 * 1024 * 1024;
  for (let count = 0; count < 40; count++) session.say('x'.repeat(1_000));
  await session.closed;
  socket.behind = 0;
  expect((await socket.closed)[0]).toBe(1011);
  expect(socket.sent.at(-1)).toMatchObject({code: 'LIVE_OVERFLOW'});
});

test('the query says how the model answers', async () => {
  await using it = await live();
  const path = `${PATH}&modalities=AUDIO&proactive_audio=true&enableAffectiveDialog=true&enable_session_resumption=false&save_live_blob=false`;
  const {session} = await it.talk(new FakeSocket(), path);
  expect(session.setup).toMatchObject({
    generationConfig: {responseModalities: ['AUDIO'], enableAffectiveDialog: true},
    proactivity: {proactiveAudio: true},
  });
  expect(session.setup).not.toHaveProperty('sessionResumption');
});

test.each<[string, string, Readonly<Record<string, string>>, number]>([
  ['without a handshake', PATH, {}, 426],
  ['without an app', '/run_live?user_id=u&session_id=s', HANDSHAKE, 422],
  ['without a session', '/run_live?app_name=app&user_id=u', HANDSHAKE, 422],
  ['with an unknown app', '/run_live?appName=no&userId=u&sessionId=s', HANDSHAKE, 404],
  ['with an unknown session', '/run_live?appName=app&userId=u&sessionId=no', HANDSHAKE, 404],
  ['with an unknown modality', `${PATH}&modalities=SMELL`, HANDSHAKE, 422],
  ['with a flag that is none', `${PATH}&proactive_audio=maybe`, HANDSHAKE, 422],
  ['from a page of another site', PATH, {...HANDSHAKE, origin: 'https://evil.example'}, 403],
])('/run_live %s is refused before there is a socket', async (_, path, headers, status) => {
  await using it = await live();
  const upgradeWebSocket = vi.fn<() => never>();
  expect((await it.site.ask('GET', path, undefined, {headers, host: {upgradeWebSocket}})).status).toBe(status);
  expect(upgradeWebSocket).not.toHaveBeenCalled();
});

test('/run_live is for GET alone', async () => {
  await using it = await live();
  expect((await it.site.ask('HEAD', PATH, undefined, {headers: HANDSHAKE})).status).toBe(426);
});

test('a host without WebSockets answers 501', async () => {
  await using it = await live();
  expect((await it.site.ask('GET', PATH, undefined, {headers: HANDSHAKE})).status).toBe(501);
});

test('on workerd the handler makes the socket itself', async () => {
  await using it = await live();
  const [client, server] = [new FakeSocket(), Object.assign(new FakeSocket(), {accept: vi.fn<() => void>()})];
  const init: unknown[] = [];
  vi.stubGlobal('WebSocketPair', function WebSocketPair() {
    return {0: client, 1: server};
  });
  class WorkerdResponse {
    constructor(_: null, options: unknown) {
      init.push(options);
    }
  }
  const {Response: own} = globalThis;
  vi.stubGlobal('Response', WorkerdResponse);
  const answer = it.site.ask('GET', PATH, undefined, {headers: HANDSHAKE});
  await answer;
  vi.stubGlobal('Response', own);
  expect(init).toEqual([{status: 101, webSocket: client}]);
  expect(server.accept).toHaveBeenCalledOnce();
  server.say(hello);
  await (await it.api.nextSession()).message('clientContent');
  server.emit('close');
});

test('on Deno the handler makes the socket itself, which opens later', async () => {
  await using it = await live();
  const socket = new FakeSocket(0);
  const response = new Response(null);
  vi.stubGlobal('Deno', {upgradeWebSocket: () => ({socket, response})});
  expect(await it.site.ask('GET', PATH, undefined, {headers: HANDSHAKE})).toBe(response);
  socket.emit('open');
  socket.emit('message', 'garbage');
  expect((await socket.closed)[0]).toBe(1007);
});
