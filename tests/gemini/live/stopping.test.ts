import dns from 'node:dns';
import {execFile} from 'node:child_process';
import {promisify} from 'node:util';

import {afterEach, beforeEach, describe, expect, test, vi} from 'vitest';

import {Gemini} from '../../../lib/gemini/index.ts';
import {GeminiLiveServer} from '../../../lib/testing/index.ts';
import {rejection} from '../asking.ts';
import {authClient, listeners, liveModelAt, noteUnhandledRejections, readToEnd, settle, silent} from './connecting.ts';
import {peer} from './peer.ts';

let checkUnhandled: () => Promise<void>;
beforeEach(() => void (checkUnhandled = noteUnhandledRejections()));
afterEach(async () => {
  vi.restoreAllMocks();
  await checkUnhandled();
});

const reason = {why: 'the user pressed stop'};

/** Timers that are set, also those that do not hold the process. */
const timers = new Set<unknown>();

beforeEach(() => {
  timers.clear();
  const {setTimeout: set, clearTimeout: clear} = globalThis;
  vi.spyOn(globalThis, 'setTimeout').mockImplementation((run: () => void, ms?: number) => {
    const timer = set(() => {
      timers.delete(timer);
      run();
    }, ms);
    timers.add(timer);
    return timer;
  });
  vi.spyOn(globalThis, 'clearTimeout').mockImplementation((timer) => {
    timers.delete(timer);
    clear(timer);
  });
});

describe('an abort', () => {
  test('before the connect starts nothing, and rejects with its reason', async () => {
    await using server = await GeminiLiveServer.start();
    const stop = new AbortController();
    stop.abort(reason);
    expect(await rejection(liveModelAt(server).connect(silent, {abortSignal: stop.signal}))).toBe(reason);
    await settle();
    expect(server.sessions).toHaveLength(0);
    expect(listeners(stop)).toBe(0);
  });

  test('during the login rejects at once, and opens no socket when the login comes', async () => {
    await using server = await GeminiLiveServer.start();
    const asked = Promise.withResolvers<void>();
    const token = Promise.withResolvers<Headers>();
    const googleAuthOptions = {authClient: authClient(() => (asked.resolve(), token.promise))};
    const model = new Gemini({model: 'm', project: 'p', googleAuthOptions, httpOptions: {baseUrl: server.url}});
    const stop = new AbortController();
    const pending = rejection(model.connect(silent, {abortSignal: stop.signal}));
    await asked.promise;

    stop.abort(reason);

    expect(await pending).toBe(reason);
    expect(listeners(stop)).toBe(0);
    token.resolve(new Headers({authorization: 'Bearer T'}));
    await settle();
    expect(server.sessions).toHaveLength(0);
  });

  test('while `ws` is loaded rejects at once, and opens no socket', async () => {
    await using server = await GeminiLiveServer.start();
    const stop = new AbortController();
    const pending = rejection(liveModelAt(server).connect(silent, {abortSignal: stop.signal}));

    stop.abort(reason);

    expect(await pending).toBe(reason);
    expect(listeners(stop)).toBe(0);
    await settle();
    expect(server.sessions).toHaveLength(0);
  });

  test('while TCP connects rejects at once, and no connection comes about later', async () => {
    await using server = await GeminiLiveServer.start();
    const {port} = new URL(server.url);
    // The name of the host is looked up for as long as the test likes.
    const looked = Promise.withResolvers<(error: null, address: {address: string; family: number}[]) => void>();
    vi.spyOn(dns, 'lookup').mockImplementation(((_host: string, _options: unknown, callback: never) => looked.resolve(callback)) as never);
    const stop = new AbortController();
    const model = liveModelAt({url: `http://live.test:${port}`});
    const pending = rejection(model.connect(silent, {abortSignal: stop.signal}));
    const answer = await looked.promise;

    stop.abort(reason);

    expect(await pending).toBe(reason);
    expect(listeners(stop)).toBe(0);
    answer(null, [{address: '127.0.0.1', family: 4}]);
    await settle();
    expect(server.sessions).toHaveLength(0);
  });

  test('while the handshake is not answered closes the socket, and rejects with its reason', async () => {
    await using server = await GeminiLiveServer.start();
    server.session([], {handshake: 'stall'});
    const stop = new AbortController();
    const pending = rejection(liveModelAt(server).connect(silent, {abortSignal: stop.signal}));
    const session = await server.nextSession();

    stop.abort(reason);

    expect(await pending).toBe(reason);
    expect(await session.closed).toMatchObject({early: true});
    expect(listeners(stop)).toBe(0);
  });

  test('while the body of a refusal is read closes the socket, and rejects with its reason', async () => {
    await using server = await peer(({socket}) => void socket.write('HTTP/1.1 403 Forbidden\r\nContent-Length: 100\r\n\r\nhalf'));
    const stop = new AbortController();
    const pending = rejection(liveModelAt(server).connect(silent, {abortSignal: stop.signal}));
    const {gone} = await server.first;
    await settle();

    stop.abort(reason);

    expect(await pending).toBe(reason);
    await gone;
    expect(listeners(stop)).toBe(0);
  });

  test('while the setup is not acknowledged closes the socket, and rejects with its reason', async () => {
    await using server = await GeminiLiveServer.start();
    server.session([]);
    const stop = new AbortController();
    const pending = rejection(liveModelAt(server).connect(silent, {abortSignal: stop.signal}));
    const session = await server.nextSession();
    await session.message('setup');

    stop.abort(reason);

    expect(await pending).toBe(reason);
    expect(await session.closed).toMatchObject({early: true, code: 1000});
    expect(listeners(stop)).toBe(0);
    expect(timers.size).toBe(0);
  });

  test('while the handshake is answered, too late, opens nothing that stays open', async () => {
    const answered = Promise.withResolvers<void>();
    await using server = await peer(async ({upgrade}) => {
      await answered.promise;
      await upgrade();
    });
    const stop = new AbortController();
    const pending = rejection(liveModelAt(server).connect(silent, {abortSignal: stop.signal}));
    const {gone} = await server.first;

    answered.resolve();
    stop.abort(reason);

    expect(await pending).toBe(reason);
    await gone;
  });

  test.each([null, 0, 'stop', new RangeError('own'), new DOMException('own', 'AbortError')])(
    'rejects with the reason %s as it is',
    async (given) => {
      await using server = await GeminiLiveServer.start();
      server.session([], {handshake: 'stall'});
      const stop = new AbortController();
      const pending = rejection(liveModelAt(server).connect(silent, {abortSignal: stop.signal}));
      await server.nextSession();
      stop.abort(given);
      expect(await pending).toBe(given);
    },
  );

  test('after the connect changes nothing: the signal is not listened to any more', async () => {
    await using server = await GeminiLiveServer.start();
    const stop = new AbortController();
    await using connection = await liveModelAt(server).connect(silent, {abortSignal: stop.signal});
    expect(listeners(stop)).toBe(0);
    stop.abort(reason);
    await connection.sendRealtime({text: 'still here'});
    expect((await (await server.nextSession()).message('realtimeInput')).payload).toEqual({text: 'still here'});
  });

  test('that never comes leaves no listener after any end', async () => {
    const stop = new AbortController();
    const abortSignal = stop.signal;
    await using server = await GeminiLiveServer.start();
    server.session(['setup', (session) => session.close(1007, 'no')]);
    server.session([], {handshake: {status: 403}});
    for (let at = 0; at < 2; at += 1) await rejection(liveModelAt(server).connect(silent, {abortSignal}));
    await rejection(new Gemini({model: 'm'}).connect(silent, {abortSignal}));
    for (let at = 0; at < 20; at += 1) await (await liveModelAt(server).connect(silent, {abortSignal})).close();
    expect(listeners(stop)).toBe(0);
  });
});

describe('close()', () => {
  test('sends a close frame and is done, ends the reading, and rejects what is sent afterwards', async () => {
    await using server = await GeminiLiveServer.start();
    const connection = await liveModelAt(server).connect(silent);
    const reading = readToEnd(connection);

    await connection.close();

    expect(await reading).toEqual({responses: [], error: undefined});
    expect(await (await server.nextSession()).closed).toMatchObject({early: true, code: 1000});
    const error = await rejection(connection.sendContent({parts: [{text: 'a'}]}));
    expect(error).toMatchObject({
      name: 'ModelError',
      code: 'CONNECTION_CLOSED',
      message: 'The live connection is closed',
      retryable: false,
    });
  });

  test('does not wait for a peer that does not answer the close frame', async () => {
    await using server = await GeminiLiveServer.start();
    server.session((session) => session.acknowledge(), {answerClose: false});
    const connection = await liveModelAt(server).connect(silent);
    const began = performance.now();
    await connection.close();
    // `ws` itself would wait for 30 s.
    expect(performance.now() - began).toBeLessThan(2_000);
    expect(await (await server.nextSession()).closed).toMatchObject({early: true, code: 1000});
  });

  test('does not wait for a peer that does not even read', async () => {
    await using server = await GeminiLiveServer.start();
    const connection = await liveModelAt(server).connect(silent);
    const session = await server.nextSession();
    session.pauseReading();
    const pending = rejection(connection.sendRealtime({audio: {mimeType: 'audio/pcm', data: 'A'.repeat(30_000_000)}}));
    const began = performance.now();
    await connection.close();
    expect(performance.now() - began).toBeLessThan(2_000);
    expect(await pending).toMatchObject({code: 'CONNECTION_CLOSED'});
    session.resumeReading();
    expect(await session.closed).toMatchObject({early: true});
  });

  test('drops what was not read, and what still comes', async () => {
    await using server = await GeminiLiveServer.start({noise: false});
    server.session(async (session) => {
      await session.acknowledge();
      session.say('unread');
    });
    const connection = await liveModelAt(server).connect(silent);
    const session = await server.nextSession();
    session.say('on its way');
    const closed = connection.close();
    session.say('too late');
    await closed;
    expect(await readToEnd(connection)).toEqual({responses: [], error: undefined});
  });

  test('may be called twice, at once, and after a loss, whose error the reader still gets', async () => {
    await using server = await GeminiLiveServer.start();
    const connection = await liveModelAt(server).connect(silent);
    await Promise.all([connection.close(), connection.close()]);
    await connection[Symbol.asyncDispose]();

    const lost = await liveModelAt(server).connect(silent);
    server.sessions[1]?.drop();
    const reading = readToEnd(lost);
    expect((await reading).error).toMatchObject({code: 'CONNECTION_LOST'});
    await lost.close();
  });

  test('leaves no timer', async () => {
    await using server = await GeminiLiveServer.start();
    const connection = await liveModelAt(server).connect(silent);
    expect(timers.size).toBe(1);
    await connection.close();
    expect(timers.size).toBe(0);
  });
});

describe('a process', () => {
  test.each([
    {what: 'has closed its connection', code: 'await connection.close();'},
    {
      what: 'has lost its connection',
      code: `await connection.sendRealtime({text: 'drop'}); try { for await (const _ of connection.receive()); } catch {}`,
    },
    {
      what: 'has aborted a connect',
      code: `const stop = new AbortController(); const late = model.connect(silent, {abortSignal: stop.signal}); stop.abort(); await late.catch(() => {}); await connection.close();`,
    },
  ])('ends by itself when it $what', async ({code}) => {
    await using server = await GeminiLiveServer.start();
    server.session([(session) => session.acknowledge(), 'realtimeInput', (session) => session.drop()]);
    const entry = JSON.stringify(new URL('../../../lib/gemini/index.ts', import.meta.url).href);
    const program = `
      const {Gemini} = await import(${entry});
      const model = new Gemini({model: 'm', apiKey: 'KEY', httpOptions: {baseUrl: ${JSON.stringify(server.url)}}});
      const silent = {contents: [], config: {}};
      const connection = await model.connect(silent);
      ${code}
      console.log('over');
    `;
    const {stdout} = await promisify(execFile)(process.execPath, ['--input-type=module', '--no-warnings', '--eval', program], {
      timeout: 15_000,
    });
    expect(stdout).toBe('over\n');
  });
});
