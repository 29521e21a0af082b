import {type AddressInfo, createServer} from 'node:net';

import {afterEach, beforeEach, describe, expect, test, vi} from 'vitest';

import type {ModelError} from '../../../lib/errors.ts';
import {Gemini} from '../../../lib/gemini/index.ts';
import {GeminiLiveServer, type LiveHandshakeRefusal} from '../../../lib/testing/index.ts';
import {rejection} from '../asking.ts';
import {authClient, key, liveModelAt, noteUnhandledRejections, refusedBy, settle, silent} from './connecting.ts';
import {peer} from './peer.ts';

let checkUnhandled: () => Promise<void>;
beforeEach(() => void (checkUnhandled = noteUnhandledRejections()));
afterEach(async () => {
  vi.restoreAllMocks();
  await checkUnhandled();
});

describe('a handshake that is refused', () => {
  const quota = {'@type': 'type.googleapis.com/google.rpc.QuotaFailure', violations: [{quotaId: 'SessionsPerDay'}]};
  const body = (code: number, status: string, message: string, details?: unknown): unknown => ({error: {code, status, message, details}});
  const cases: readonly {readonly what: string; readonly handshake: LiveHandshakeRefusal; readonly error: Partial<ModelError>}[] = [
    {
      what: 'with 403 and a body',
      handshake: {status: 403, body: body(403, 'PERMISSION_DENIED', 'Your project has been denied.')},
      error: {code: 'PERMISSION_DENIED', status: 403, message: 'Your project has been denied.', retryable: false},
    },
    {
      what: 'with 404 and a page',
      handshake: {status: 404, body: '<!DOCTYPE html><html><title>Error 404 (Not Found)!!1</title></html>'},
      error: {
        code: 'NOT_FOUND',
        status: 404,
        message: 'The server answered 404 with an HTML page:  Error 404 (Not Found)!!1 '.replaceAll('  ', ' ').trim(),
        retryable: false,
      },
    },
    {
      what: 'with 429 and a time to wait',
      handshake: {status: 429, body: body(429, 'RESOURCE_EXHAUSTED', 'slow down', [{retryDelay: '1.5s'}])},
      error: {code: 'RESOURCE_EXHAUSTED', status: 429, message: 'slow down', retryDelayMs: 1500, retryable: true},
    },
    {
      what: 'with 429 for the day',
      handshake: {status: 429, body: body(429, 'RESOURCE_EXHAUSTED', 'no more', [quota])},
      error: {code: 'RESOURCE_EXHAUSTED', status: 429, message: 'no more', retryable: false},
    },
    {
      what: 'with 503 and nothing',
      handshake: {status: 503, body: ''},
      error: {code: 'UNAVAILABLE', status: 503, message: 'The server answered 503 and said nothing', retryable: true},
    },
    {
      what: 'with a redirect, which is not followed',
      handshake: {status: 302, body: 'elsewhere', headers: {location: 'http://127.0.0.1:1/'}},
      error: {code: 'HTTP_302', status: 302, message: 'elsewhere', retryable: false},
    },
    {
      what: 'with 200, as by a web server that knows no WebSockets',
      handshake: {status: 200, body: 'hello'},
      error: {code: 'HTTP_200', status: 200, message: 'hello', retryable: false},
    },
  ];

  test.each(cases)("$what is a ModelError in the server's own words", async ({handshake, error}) => {
    await using server = await GeminiLiveServer.start();
    server.session([], {handshake});
    expect(await refusedBy(server)).toMatchObject({...error, closeCode: undefined});
    expect((await (await server.nextSession()).closed).early).toBe(false);
  });

  test('does not tell the key that the server repeats', async () => {
    await using server = await GeminiLiveServer.start();
    server.session([], {handshake: {status: 400, body: body(400, 'INVALID_ARGUMENT', `API key ${key} is not valid`)}});
    expect((await refusedBy(server)).message).toBe('API key REDACTED is not valid');
  });

  test.each([
    {what: 'no HTTP', answer: 'SSH-2.0-OpenSSH_9.6\r\n\r\n', code: 'PROTOCOL_ERROR', retryable: false},
    {
      what: 'a wrong key',
      answer: 'HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: no\r\n\r\n',
      code: 'PROTOCOL_ERROR',
      retryable: false,
    },
    {what: 'nothing', answer: '', code: 'CONNECTION_LOST', retryable: true},
  ])('by $what is $code', async ({answer, code, retryable}) => {
    await using server = await peer(({socket}) => void socket.end(answer));
    expect(await refusedBy(server)).toMatchObject({code, status: undefined, retryable});
  });

  test('in the middle of its body has its status nevertheless', async () => {
    await using server = await peer(({socket}) => {
      socket.write('HTTP/1.1 500 Oh\r\nContent-Length: 100\r\n\r\nhalf', () => socket.destroy());
    });
    expect(await refusedBy(server)).toMatchObject({code: 'INTERNAL', status: 500, message: 'half', retryable: true});
  });

  test('with a body without end is read to a bound', async () => {
    await using server = await peer(async ({socket}) => {
      socket.write('HTTP/1.1 403 Forbidden\r\nContent-Type: text/plain\r\n\r\n');
      while (!socket.destroyed) await new Promise((resolve) => socket.write('x'.repeat(65_536), resolve));
    });
    expect(await refusedBy(server)).toMatchObject({code: 'PERMISSION_DENIED', status: 403});
    await (
      await server.first
    ).gone;
  });
});

describe('a connection that cannot be made', () => {
  test('because nobody listens is CONNECTION_LOST, retryable', async () => {
    const closed = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => closed.once('listening', resolve));
    const {port} = closed.address() as AddressInfo;
    await new Promise((resolve) => closed.close(resolve));
    const error = await refusedBy({url: `http://127.0.0.1:${port}`});
    expect(error).toMatchObject({code: 'CONNECTION_LOST', retryable: true, status: undefined, closeCode: undefined});
    expect(error.message).toBe(`The connection to the server was lost (connect ECONNREFUSED 127.0.0.1:${port})`);
    expect(error.cause).toMatchObject({code: 'ECONNREFUSED'});
  });

  test('because the socket is reset is CONNECTION_LOST, retryable', async () => {
    await using server = await peer(({socket}) => void socket.destroy());
    expect(await refusedBy(server)).toMatchObject({code: 'CONNECTION_LOST', retryable: true});
  });

  test('because of the login has its words', async () => {
    const failing = authClient(() => Promise.reject(new Error('Could not load the default credentials.')));
    const model = new Gemini({model: 'm', project: 'p', googleAuthOptions: {authClient: failing}});
    expect(await rejection(model.connect(silent))).toMatchObject({
      name: 'ModelError',
      code: 'REQUEST_FAILED',
      message: 'Could not load the default credentials.',
      retryable: false,
    });
  });

  test.each([
    {what: 'a header', options: {httpOptions: {headers: {Authorization: `Bearer ${key}\nb`}}}, name: 'Authorization'},
    {what: 'a key', options: {vertexai: true, apiKey: `${key}\nb`}, name: 'x-goog-api-key'},
  ])('because of $what that cannot be sent is an error that does not tell it, and no socket is opened', async ({options, name}) => {
    await using server = await GeminiLiveServer.start();
    const model = liveModelAt(server, {...options, httpOptions: {baseUrl: server.url, ...options.httpOptions}});
    const error = await rejection(model.connect(silent));
    expect(error).toMatchObject({name: 'ModelError', code: 'REQUEST_FAILED', retryable: false});
    expect((error as Error).message).toBe(`Expected the header "${name}" to be one that HTTP can send, got other characters`);
    expect(error).not.toHaveProperty('cause');
    expect(server.sessions).toHaveLength(0);
  });
});

describe('a connection that is not ready within `connectMs`', () => {
  const late = {code: 'CONNECT_TIMEOUT', message: 'The live connection was not ready within 40 ms', retryable: true};

  test('because the login takes too long is CONNECT_TIMEOUT, and opens no socket later', async () => {
    await using server = await GeminiLiveServer.start();
    const token = Promise.withResolvers<Headers>();
    const googleAuthOptions = {authClient: authClient(() => token.promise)};
    const model = new Gemini({model: 'm', project: 'p', googleAuthOptions, httpOptions: {baseUrl: server.url}, connectMs: 40});
    expect(await rejection(model.connect(silent))).toMatchObject(late);
    token.resolve(new Headers({authorization: 'Bearer T'}));
    await settle();
    expect(server.sessions).toHaveLength(0);
  });

  test('because the handshake is not answered is CONNECT_TIMEOUT, and its socket is closed', async () => {
    await using server = await GeminiLiveServer.start();
    server.session([], {handshake: 'stall'});
    expect(await rejection(liveModelAt(server, {connectMs: 40}).connect(silent))).toMatchObject(late);
    expect(await (await server.nextSession()).closed).toMatchObject({early: true});
  });

  test('because the setup is not acknowledged is CONNECT_TIMEOUT, and its socket is closed', async () => {
    await using server = await GeminiLiveServer.start();
    server.session(['setup', {sessionResumptionUpdate: {newHandle: 'H'}}]);
    expect(await rejection(liveModelAt(server, {connectMs: 40}).connect(silent))).toMatchObject(late);
    expect(await (await server.nextSession()).closed).toMatchObject({early: true, code: 1000});
  });

  test('does not fail where the answer lies in the socket while the event loop was blocked', async () => {
    await using server = await GeminiLiveServer.start();
    server.session(async (session) => {
      await session.acknowledge();
      // The answer has left; the client cannot look before the deadline has passed.
      const until = performance.now() + 300;
      while (performance.now() < until);
    });
    const connection = await liveModelAt(server, {connectMs: 200}).connect(silent);
    await connection.close();
  });
});
