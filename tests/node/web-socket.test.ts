import {once} from 'node:events';
import {createServer} from 'node:http';
import type {AddressInfo} from 'node:net';
import {describe, expect, test} from 'vitest';
import {WebSocket} from 'ws';
import {toNodeHandler, toNodeUpgradeHandler, type FetchHandler} from '../../lib/node/index.ts';
import type {ServerSocket} from '../../lib/serve/handler.ts';
import {RawClient, statusLine} from './raw-client.ts';
import {serve} from './serving.ts';

const handshake = 'GET /live HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n';

/** Logs what its socket tells, and says all back. */
function echo(log: unknown[] = [], use: (socket: ServerSocket) => void = () => {}): FetchHandler {
  return (request, host) => {
    if (!host?.upgradeWebSocket) return new Response('no WebSocket', {status: 501});
    const {socket, response} = host.upgradeWebSocket(request);
    socket.send('welcome');
    socket.addEventListener('message', ({data}) => {
      log.push(data);
      socket.send(typeof data === 'string' ? data : new Uint8Array(data as ArrayBuffer));
    });
    socket.addEventListener('close', () => log.push('close'));
    use(socket);
    log.push('returned');
    return response;
  };
}

async function open(url: string): Promise<{client: WebSocket; next: () => Promise<unknown>}> {
  const client = new WebSocket(`${url.replace('http', 'ws')}/live`);
  const messages: unknown[] = [];
  const waiting: ((message: unknown) => void)[] = [];
  client.on('message', (data: Buffer, isBinary) => {
    const message = isBinary ? [...data] : data.toString();
    const reader = waiting.shift();
    if (reader) reader(message);
    else messages.push(message);
  });
  await once(client, 'open');
  const next = (): Promise<unknown> =>
    new Promise((resolve) => {
      if (messages.length > 0) resolve(messages.shift());
      else waiting.push(resolve);
    });
  return {client, next};
}

describe('a request for a WebSocket', () => {
  test('becomes one, which carries text and bytes', async () => {
    const log: unknown[] = [];
    await using listener = await serve(echo(log));
    const {client, next} = await open(listener.url);
    client.send('text');
    client.send(Buffer.from([1, 2]));
    expect([await next(), await next(), await next()]).toEqual(['welcome', 'text', [1, 2]]);
    client.close();
    await once(client, 'close');
    expect(log).toEqual(['returned', 'text', new Uint8Array([1, 2]).buffer, 'close']);
  });

  test('that comes with its first message loses none', async () => {
    await using listener = await serve(async (request, host) => {
      const response = await echo()(request, host);
      await new Promise((resolve) => setImmediate(resolve));
      return response;
    });
    const frame = '\x81\x82\x00\x00\x00\x00hi';
    using client = await RawClient.connect(
      listener.port,
      `${handshake}Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n${frame}`,
    );
    expect(await client.until(/hi$/)).toMatch(/^HTTP\/1\.1 101 /);
    expect(client.text.slice(-13)).toBe('\x81\x07welcome\x81\x02hi');
  });

  test('is refused with the response of the handler, and its connection is closed', async () => {
    await using listener = await serve(() => new Response('not you', {status: 401}));
    using client = await RawClient.connect(
      listener.port,
      `${handshake}Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n`,
    );
    const text = await client.ended();
    expect(statusLine(text)).toBe('HTTP/1.1 401 Unauthorized');
    expect(text).toContain('not you');
  });

  test('without a key is answered with 400', async () => {
    await using listener = await serve(echo());
    using client = await RawClient.connect(listener.port, `${handshake}\r\n`);
    expect(statusLine(await client.ended())).toBe('HTTP/1.1 400 Bad Request');
  });

  test('whose handler throws is answered with 500, before and after it became one', async () => {
    const errors: unknown[] = [];
    const answer: FetchHandler = (request, host) => {
      if (request.headers.has('x-upgrade')) host?.upgradeWebSocket?.(request);
      throw new Error('secret');
    };
    await using listener = await serve(answer, {onError: (error) => errors.push(error)});
    const url = `${listener.url.replace('http', 'ws')}/live`;
    const [failure] = (await once(new WebSocket(url), 'error')) as [Error];
    expect(failure.message).toContain('500');
    const [code] = (await once(new WebSocket(url, {headers: {'x-upgrade': 'yes'}}), 'close')) as [number];
    expect(code).toBe(1011);
    expect(errors).toEqual([new Error('secret'), new Error('secret')]);
  });

  test('aborts the signal of its request when its client vanishes', async () => {
    const signal = Promise.withResolvers<unknown>();
    const socket = Promise.withResolvers<void>();
    await using listener = await serve((request, host) => {
      request.signal.addEventListener('abort', () => signal.resolve(request.signal.reason));
      return echo([], (webSocket) => webSocket.addEventListener('close', () => socket.resolve()))(request, host);
    });
    const {client} = await open(listener.url);
    client.terminate();
    expect(await signal.promise).toMatchObject({name: 'AbortError', message: 'The client has left'});
    await socket.promise;
  });
});

test('an offer of another protocol is answered as if it had not been made', async () => {
  await using listener = await serve(async (request, host) => new Response(`<${await request.text()} ${typeof host?.upgradeWebSocket}>`));
  const offer = 'Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n';
  using client = await RawClient.connect(listener.port, `POST / HTTP/1.1\r\nHost: a\r\n${offer}Content-Length: 5\r\n\r\nhello`);
  expect(await client.until(/<.*>/)).toContain('<hello undefined>');
});

test('an ordinary request has no WebSocket to offer', async () => {
  await using listener = await serve(echo());
  expect((await fetch(listener.url)).status).toBe(501);
});

test('a closing listener breaks the WebSockets that the handler has left open', async () => {
  const served = Promise.withResolvers<void>();
  const listener = await serve(echo([], (socket) => socket.addEventListener('close', () => served.resolve())));
  const {client, next} = await open(listener.url);
  await next();
  const closed = once(client, 'close');
  await listener.close();
  expect(((await closed) as [number])[0]).toBe(1006);
  await served.promise;
});

test('toNodeUpgradeHandler serves WebSockets on a server that is there already', async () => {
  const handler = echo();
  const server = createServer(toNodeHandler(handler)).on('upgrade', toNodeUpgradeHandler(handler)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const {client, next} = await open(url);
  expect(await next()).toBe('welcome');
  expect((await fetch(url)).status).toBe(501);
  client.close();
  await once(client, 'close');
  server.close();
  await once(server, 'close');
});

test.each([
  {what: 'without a body is answered as usual', said: 'GET / HTTP/1.1\r\n', expected: /^HTTP\/1\.1 200 [^]*plain/},
  {what: 'with a body is answered with 501', said: 'POST / HTTP/1.1\r\nContent-Length: 5\r\n', expected: /^HTTP\/1\.1 501 /},
])('an offer of another protocol $what, where Node takes it for one', async ({said, expected}) => {
  const handler: FetchHandler = async (request) => new Response(`plain ${await request.text()}`);
  const server = createServer(toNodeHandler(handler)).on('upgrade', toNodeUpgradeHandler(handler)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const {port} = server.address() as AddressInfo;
  using client = await RawClient.connect(port, `${said}Host: a\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n`);
  expect(await client.ended()).toMatch(expected);
  server.close();
  await once(server, 'close');
});
