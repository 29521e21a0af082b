import {afterEach, beforeEach, describe, expect, test, vi} from 'vitest';

import {GeminiLiveServer} from '../../../lib/testing/index.ts';
import {rejection} from '../asking.ts';
import {key, liveModelAt, noteUnhandledRejections, readToEnd, refusedBy, silent} from './connecting.ts';
import {peer} from './peer.ts';

let checkUnhandled: () => Promise<void>;
beforeEach(() => void (checkUnhandled = noteUnhandledRejections()));
afterEach(async () => {
  vi.restoreAllMocks();
  await checkUnhandled();
});

/** What a connection fails with that was ready. */
async function lostBy(close: {readonly code: number; readonly reason?: string}): Promise<unknown> {
  await using server = await GeminiLiveServer.start();
  server.session(async (session) => {
    await session.acknowledge();
    session.close(close.code, close.reason);
  });
  await using connection = await liveModelAt(server).connect(silent);
  return (await readToEnd(connection)).error;
}

describe('a close before the setup is taken', () => {
  test.each([
    {code: 1007, reason: 'Request contains an invalid argument.', error: {code: 'INVALID_ARGUMENT', retryable: false}},
    {code: 1008, reason: 'Requested entity was not found.', error: {code: 'POLICY_VIOLATION', retryable: false}},
    {code: 1011, reason: 'Internal error encountered.', error: {code: 'INTERNAL', retryable: false}},
    {code: 1000, reason: 'bye', error: {code: 'CLOSED_1000', retryable: true}},
    {code: 1013, reason: 'Try again later', error: {code: 'CLOSED_1013', retryable: true}},
    {code: 3000, reason: 'odd', error: {code: 'CLOSED_3000', retryable: false}},
  ])('with $code is $error.code with its reason', async ({code, reason, error}) => {
    await using server = await GeminiLiveServer.start();
    server.session(['setup', (session) => session.close(code, reason)]);
    expect(await refusedBy(server)).toMatchObject({...error, closeCode: code, message: reason, status: undefined});
  });

  test('without a reason says what happened', async () => {
    await using server = await GeminiLiveServer.start();
    server.session(['setup', (session) => session.close(1011)]);
    expect((await refusedBy(server)).message).toBe('The server closed the connection before it took the setup (1011)');
  });

  test('by a dropped connection is CONNECTION_LOST, retryable', async () => {
    await using server = await GeminiLiveServer.start();
    server.session(['setup', (session) => session.drop()]);
    expect(await refusedBy(server)).toMatchObject({
      code: 'CONNECTION_LOST',
      closeCode: 1006,
      message: 'The connection to the server was lost before it took the setup',
      retryable: true,
    });
  });

  test('for a field that the server does not know says which', async () => {
    await using server = await GeminiLiveServer.start();
    const request = {...silent, liveConnectConfig: {realtimeInputConfig: {nonsense: true}} as never};
    const error = await rejection(liveModelAt(server).connect(request));
    expect(error).toMatchObject({code: 'INVALID_ARGUMENT', closeCode: 1007, retryable: false});
    expect((error as Error).message).toContain('nonsense');
  });

  test('does not tell the key that the reason repeats', async () => {
    await using server = await GeminiLiveServer.start();
    server.session(['setup', (session) => session.close(1007, `bad key ${key}`)]);
    expect((await refusedBy(server)).message).toBe('bad key REDACTED');
  });
});

describe('a close after the setup', () => {
  test.each([
    ...[1000, 1001, 1011, 1012, 1013, 1014].map((code) => ({code, retryable: true})),
    ...[1002, 1003, 1007, 1008, 1009, 1010, 3000, 4999].map((code) => ({code, retryable: false})),
  ])('with $code is retryable: $retryable', async ({code, retryable}) => {
    const names: Readonly<Record<number, string>> = {1007: 'INVALID_ARGUMENT', 1008: 'POLICY_VIOLATION', 1011: 'INTERNAL'};
    expect(await lostBy({code, reason: 'the reason'})).toMatchObject({
      name: 'ModelError',
      code: names[code] ?? `CLOSED_${code}`,
      closeCode: code,
      message: 'the reason',
      retryable,
    });
  });

  test.each(['Token has been used too many times', 'You exceeded your current quota, please check your plan and billing details.'])(
    'with 1011 is not retryable for the reason: %s',
    async (reason) => {
      expect(await lostBy({code: 1011, reason})).toMatchObject({code: 'INTERNAL', closeCode: 1011, message: reason, retryable: false});
    },
  );

  test('without a code has 1005, and is retryable', async () => {
    await using server = await peer(async ({upgrade}) => {
      const webSocket = await upgrade();
      webSocket.once('message', () => {
        webSocket.send('{"setupComplete": {}}');
        webSocket.close();
      });
    });
    await using connection = await liveModelAt(server).connect(silent);
    expect((await readToEnd(connection)).error).toMatchObject({
      code: 'CLOSED_1005',
      closeCode: 1005,
      message: 'The server closed the connection (1005)',
      retryable: true,
    });
  });

  test('is told soon where the server leaves the socket open', async () => {
    await using server = await peer(async ({upgrade, socket}) => {
      const webSocket = await upgrade();
      webSocket.once('message', () => {
        webSocket.send('{"setupComplete": {}}', () => {
          // A close frame by hand: `ws` would close the socket when it is answered.
          socket.write(Buffer.from([0x88, 2, 1001 >> 8, 1001 & 255]));
          socket.pause();
        });
      });
    });
    await using connection = await liveModelAt(server).connect(silent);
    const began = performance.now();
    expect((await readToEnd(connection)).error).toMatchObject({code: 'CLOSED_1001', retryable: true});
    // `ws` itself would wait for 30 s.
    expect(performance.now() - began).toBeLessThan(5_000);
  });

  test('by a dropped connection gives what came before, then CONNECTION_LOST', async () => {
    await using server = await GeminiLiveServer.start();
    server.session(async (session) => {
      await session.acknowledge();
      session.say('last words');
      session.drop();
    });
    await using connection = await liveModelAt(server).connect(silent);
    const {responses, error} = await readToEnd(connection);
    expect(responses).toEqual([{content: {role: 'model', parts: [{text: 'last words'}]}, partial: true}]);
    expect(error).toMatchObject({
      code: 'CONNECTION_LOST',
      closeCode: 1006,
      message: 'The connection to the server was lost',
      retryable: true,
    });
  });
});

describe('a frame that is no message', () => {
  test.each([
    {what: 'no JSON', frame: 'hello', shown: '"hello"'},
    {what: 'a list', frame: '[{"setupComplete": {}}]', shown: String.raw`"[{\"setupComplete\": {}}]"`},
    {what: 'null', frame: 'null', shown: '"null"'},
    {what: 'a number', frame: '7', shown: '"7"'},
    {what: 'a text', frame: '"a"', shown: String.raw`"\"a\""`},
    {what: 'nothing', frame: '', shown: '""'},
    {what: 'the key', frame: `not for ${key}`, shown: '"not for REDACTED"'},
  ])('but $what is PROTOCOL_ERROR and closes the connection, before the setup is taken and after', async ({frame, shown}) => {
    await using server = await GeminiLiveServer.start({noise: false});
    server.session(['setup', (session) => session.sendRaw(frame)]);
    server.session(async (session) => {
      await session.acknowledge();
      session.say('fine');
      session.sendRaw(frame);
      session.say('too late');
    });
    const wanted = {
      code: 'PROTOCOL_ERROR',
      message: `Expected each message of the server to be a JSON object, got ${shown}`,
      retryable: false,
    };
    const refused = await refusedBy(server);
    expect(refused).toMatchObject(wanted);
    // The words of the parser would repeat the frame.
    expect(refused).not.toHaveProperty('cause');
    await using connection = await liveModelAt(server).connect(silent);

    const {responses, error} = await readToEnd(connection);

    expect(responses).toEqual([{content: {role: 'model', parts: [{text: 'fine'}]}, partial: true}]);
    expect(error).toMatchObject(wanted);
    for (const session of server.sessions) expect(await session.closed).toMatchObject({early: true, code: 1000});
  });

  test('but breaks the rules of WebSockets is PROTOCOL_ERROR', async () => {
    await using server = await peer(async ({upgrade, socket}) => {
      const webSocket = await upgrade();
      // A text frame that says it is compressed, which was not agreed on.
      webSocket.once('message', () => void socket.write(Buffer.from([0xc1, 1, 0x61])));
    });
    expect(await refusedBy(server)).toMatchObject({code: 'PROTOCOL_ERROR', retryable: false});
    await (
      await server.first
    ).gone;
  });
});

describe('a send', () => {
  test.each(['close', 'drop'] as const)(
    'over a connection that the server has ended (%s) is CONNECTION_CLOSED, with the reason',
    async (how) => {
      await using server = await GeminiLiveServer.start();
      await using connection = await liveModelAt(server).connect(silent);
      const session = await server.nextSession();
      if (how === 'close') session.close(1012, 'restart');
      else session.drop();
      const {error} = await readToEnd(connection);

      for (const send of [connection.sendContent({parts: [{text: 'a'}]}), connection.sendRealtime({text: 'a'})]) {
        const closeCode = how === 'close' ? 1012 : 1006;
        const rejected = await rejection(send);
        expect(rejected).toMatchObject({name: 'ModelError', code: 'CONNECTION_CLOSED', closeCode, retryable: true, cause: error});
        expect((rejected as Error).message).toBe(`The live connection is closed: ${(error as Error).message}`);
      }
    },
  );

  test.each(['close', 'drop', 'close()'] as const)('that is pending at a %s is CONNECTION_CLOSED', async (how) => {
    await using server = await GeminiLiveServer.start();
    await using connection = await liveModelAt(server).connect(silent);
    const session = await server.nextSession();
    session.pauseReading();
    const audio = {mimeType: 'audio/pcm', data: 'A'.repeat(30_000_000)};
    const pending = Promise.all([rejection(connection.sendRealtime({audio})), rejection(connection.sendRealtime({text: 'a'}))]);

    if (how === 'close') session.close(1013, 'full');
    else if (how === 'drop') session.drop();
    else await connection.close();

    const rejected = await pending;
    for (const error of rejected)
      expect(error).toMatchObject({name: 'ModelError', code: 'CONNECTION_CLOSED', retryable: how !== 'close()'});
  });
});
