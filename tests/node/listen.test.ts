import {once} from 'node:events';
import {describe, expect, test} from 'vitest';
import type {Handler} from '../../lib/serve/handler.ts';
import {listen, toNodeHandler, toNodeUpgradeHandler, type ListenOptions} from '../../lib/node/index.ts';
import {RawClient, statusLine} from './raw-client.ts';
import {handlerOf, serve, takenPort, WatchedBody} from './serving.ts';

const nothing = handlerOf(() => new Response('nothing'));
const GET = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n';

describe('listen() refuses', () => {
  test.each([
    [{port: 70_000}, 'Expected `listen.port` to be a whole number of at least 0 and of at most 65535, got 70000 (number)'],
    [{port: -1}, 'Expected `listen.port` to be a whole number of at least 0 and of at most 65535, got -1 (number)'],
    [{port: '80'}, 'Expected `listen.port` to be a whole number of at least 0 and of at most 65535, got "80" (string)'],
    [{hostname: ''}, 'Expected `listen.hostname` to be a non-empty string, got "" (string)'],
    [
      {signals: ['SIGTREM']},
      'Expected `listen.signals` to be an array of signals that a process can handle, such as SIGTERM, got an array of 1',
    ],
    [
      {signals: ['SIGKILL']},
      'Expected `listen.signals` to be an array of signals that a process can handle, such as SIGTERM, got an array of 1',
    ],
    [{drainTimeoutMs: -5}, 'Expected `listen.drainTimeoutMs` to be a number of milliseconds from 0, or Infinity, got -5 (number)'],
    [{onError: 'log'}, 'Expected `listen.onError` to be a function, got "log" (string)'],
    [{host: '::'}, 'Expected `listen.host` to be absent, as there is no such option (did you mean `hostname`?'],
  ])('%j', async (options, message) => {
    await expect(listen(nothing, options as ListenOptions)).rejects.toThrow(message);
  });

  test.each([[['']], [['a.example:8000']], [['https://a.example']], [['a.example/x']], [['a b']], [['::1']], [[5]], ['a.example'], [true]])(
    '%j as names of hosts',
    async (allowedHosts) => {
      await expect(listen(nothing, {allowedHosts} as ListenOptions)).rejects.toThrow(
        'Expected `listen.allowedHosts` to be "*", or an array of names of hosts without a port, such as agents.example',
      );
    },
  );

  test('what is no handler', async () => {
    await expect(listen({} as Handler)).rejects.toThrow('Expected `handler` to be a Handler, such as createHandler of sluice/serve makes');
    const answer = (async () => new Response('')) as unknown as Handler;
    await expect(listen(answer)).rejects.toThrow('Expected `handler` to be a Handler');
    expect(() => toNodeHandler(undefined as never)).toThrow('Expected `handler` to be a function, got undefined');
    expect(() => toNodeUpgradeHandler(nothing, {onerror: () => {}} as object)).toThrow('did you mean `onError`');
  });

  test('a port that is taken, with the error of the system; and leaves nothing', async () => {
    await using taken = await takenPort();
    await expect(listen(nothing, {port: taken.port})).rejects.toMatchObject({code: 'EADDRINUSE'});
    expect([process.listenerCount('SIGTERM'), process.listenerCount('SIGINT')]).toEqual([0, 0]);
  });
});

describe('a listener', () => {
  test('tells where it listens', async () => {
    await using listener = await serve(nothing);
    expect(listener.url).toBe(`http://127.0.0.1:${listener.port}`);
    await using everywhere = await serve(nothing, {hostname: '0.0.0.0'});
    expect(everywhere.url).toBe(`http://localhost:${everywhere.port}`);
  });

  test('listens to signals while it is open, and to none where none are named', async () => {
    const before = process.listenerCount('SIGTERM');
    await using quiet = await serve(nothing);
    expect([quiet.port > 0, process.listenerCount('SIGTERM')]).toEqual([true, before]);
    const one = await serve(nothing, {signals: ['SIGTERM']});
    const two = await serve(nothing, {signals: ['SIGTERM', 'SIGINT']});
    expect([process.listenerCount('SIGTERM'), process.listenerCount('SIGINT')]).toEqual([before + 1, 1]);
    await two.close();
    expect([process.listenerCount('SIGTERM'), process.listenerCount('SIGINT')]).toEqual([before + 1, 0]);
    await one.close();
    expect(process.listenerCount('SIGTERM')).toBe(before);
  });
});

describe('closing a listener', () => {
  test('refuses connections at once and closes those that are idle, while what is under way finishes', async () => {
    const closing = Promise.withResolvers<void>();
    const drained = Promise.withResolvers<void>();
    const answering = Promise.withResolvers<Response>();
    const asked = Promise.withResolvers<void>();
    const handler = handlerOf(
      ({url}) => {
        if (url.endsWith('/idle')) return new Response('idle');
        asked.resolve();
        return answering.promise;
      },
      (options) => {
        expect(options).toEqual({timeoutMs: 1234});
        closing.resolve();
        return drained.promise;
      },
    );
    const listener = await serve(handler);
    using idle = await RawClient.connect(listener.port, GET.replace('/', '/idle'));
    await idle.until(/idle/);
    using busy = await RawClient.connect(listener.port, GET);
    await asked.promise;

    const closed = listener.close({timeoutMs: 1234});
    await closing.promise;
    await idle.ended();
    await expect(fetch(listener.url)).rejects.toThrow('fetch failed');
    answering.resolve(new Response('finished'));
    // Though its answer had promised to keep it.
    expect(await busy.ended()).toContain('finished');
    drained.resolve();
    await closed;
    await listener.closed;
  });

  test('tells those that ask meanwhile that theirs is the last answer', async () => {
    const drained = Promise.withResolvers<void>();
    const first = new WatchedBody((n) => (n === 1 ? Buffer.from('first') : undefined));
    const listener = await serve(
      handlerOf(
        ({url}) => (url.endsWith('/2') ? new Response('draining', {status: 503}) : new Response(first.stream)),
        () => drained.promise,
      ),
    );
    const client = await RawClient.connect(listener.port, GET);
    await client.until(/first/);
    using other = await RawClient.connect(listener.port, 'GET /2 HT');
    await fetch(`${listener.url}/2`);
    const closed = listener.close();
    other.say('TP/1.1\r\nHost: a\r\n\r\n');
    const text = await other.ended();
    expect(statusLine(text)).toBe('HTTP/1.1 503 Service Unavailable');
    expect(text).toMatch(/connection: close/i);
    client.leave();
    drained.resolve();
    await closed;
  });

  test('breaks connections that do not read what is left', async () => {
    const body = new WatchedBody(() => new Uint8Array(32 * 1024 * 1024));
    const listener = await serve(() => new Response(body.stream));
    const client = await RawClient.connect(listener.port);
    client.socket.pause();
    client.say(GET);
    await once(client.socket, 'readable');
    await listener.close();
    await body.cancelled.promise;
    client.leave();
  });

  test('is shared by all who ask, and happens once', async () => {
    let closes = 0;
    const listener = await serve(
      handlerOf(
        () => new Response(''),
        async () => void (closes += 1),
      ),
    );
    await Promise.all([listener.close(), listener.close({timeoutMs: 5}), listener[Symbol.asyncDispose]()]);
    expect(closes).toBe(1);
  });

  test('rejects with what the handler failed with, when all is closed; `closed` just resolves', async () => {
    const listener = await serve(
      handlerOf(
        () => new Response(''),
        () => Promise.reject(new Error('broken')),
      ),
    );
    await expect(listener.close()).rejects.toThrow('broken');
    await listener.closed;
    await expect(fetch(listener.url)).rejects.toThrow('fetch failed');
  });

  test('refuses a time that is none, and stays open', async () => {
    await using listener = await serve(nothing);
    await expect(listener.close({timeoutMs: Number.NaN})).rejects.toThrow('Expected `close.timeoutMs` to be a number of milliseconds');
    await expect(listener.close({timeout: 5} as object)).rejects.toThrow('did you mean `timeoutMs`');
    expect((await fetch(listener.url)).status).toBe(200);
  });
});
