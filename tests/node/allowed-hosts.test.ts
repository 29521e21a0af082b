// Which names a listener answers to. A page whose name its owner points at 127.0.0.1 asks with that name in `Host`.
import {once} from 'node:events';
import {request, type IncomingMessage} from 'node:http';
import {networkInterfaces} from 'node:os';
import {describe, expect, test} from 'vitest';
import {WebSocket} from 'ws';
import {listen, type FetchHandler, type Listener, type ListenOptions} from '../../lib/node/index.ts';
import {RawClient, statusLine} from './raw-client.ts';
import {handlerOf} from './serving.ts';

const hasIPv6 = Object.values(networkInterfaces()).some((addresses) => addresses?.some(({address}) => address === '::1'));

/** A listener with the default for `allowedHosts`, and what its handler was asked. */
async function serve(options: ListenOptions = {}): Promise<{listener: Listener; asked: string[]} & AsyncDisposable> {
  const asked: string[] = [];
  const answer: FetchHandler = (incoming, host) => {
    asked.push(incoming.url);
    return incoming.headers.has('upgrade') && host?.upgradeWebSocket ? host.upgradeWebSocket(incoming).response : new Response('hello');
  };
  const listener = await listen(handlerOf(answer), {port: 0, signals: [], drainTimeoutMs: 0, ...options});
  return {listener, asked, [Symbol.asyncDispose]: () => listener.close()};
}

/** What a request for a host is answered with. */
async function statusFor(host: string, {url}: Listener): Promise<number | undefined> {
  const [answer] = (await once(request(url, {headers: {host}, agent: false}).end(), 'response')) as [IncomingMessage];
  answer.resume();
  return answer.statusCode;
}

describe('a listener on a loopback address', () => {
  test.each(['localhost', 'LOCALHOST:8000', 'localhost.', 'agents.localhost', '127.0.0.1:8000', '127.1.2.3', '[::1]:8000'])(
    'answers for %s',
    async (host) => {
      await using server = await serve();
      expect(await statusFor(host, server.listener)).toBe(200);
    },
  );

  test.each([
    'evil.example',
    'evil.example:8000',
    'localhost.evil.example',
    '127.0.0.1.evil.example',
    'evillocalhost',
    '192.168.0.7',
    '0.0.0.0',
  ])('refuses a request for %s, and the handler never sees it', async (host) => {
    await using server = await serve();
    expect(await statusFor(host, server.listener)).toBe(403);
    expect(server.asked).toEqual([]);
  });

  test('says which name it refuses, and which option lets it in', async () => {
    await using server = await serve();
    using client = await RawClient.connect(server.listener.port, 'GET / HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n');
    const text = await client.ended();
    expect(text).toMatch(/content-type: application\/problem\+json/i);
    expect(text).toContain('"code":"HOST_NOT_ALLOWED"');
    expect(text).toContain('This server does not answer for evil.example, only for this machine (localhost) and for its `allowedHosts`');
  });

  test('goes by the target of a request where that names a host', async () => {
    await using server = await serve();
    using client = await RawClient.connect(
      server.listener.port,
      'GET http://evil.example/ HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n',
    );
    expect(statusLine(await client.ended())).toBe('HTTP/1.1 403 Forbidden');
  });

  test('refuses a body before it is sent', async () => {
    await using server = await serve();
    const head = 'POST / HTTP/1.1\r\nHost: evil.example\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n';
    using client = await RawClient.connect(server.listener.port, head);
    expect(statusLine(await client.until(/\r\n\r\n/))).toBe('HTTP/1.1 403 Forbidden');
  });

  test('refuses WebSockets for a foreign name, and makes them for its own', async () => {
    await using server = await serve();
    const url = server.listener.url.replace('http', 'ws');
    const [failure] = (await once(new WebSocket(url, {headers: {host: 'evil.example'}}), 'error')) as [Error];
    expect(failure.message).toContain('403');
    expect(server.asked).toEqual([]);
    const client = new WebSocket(url);
    await once(client, 'open');
    client.close();
    await once(client, 'close');
  });

  test('answers for the names of `allowedHosts` on any port, and for this machine still', async () => {
    await using server = await serve({allowedHosts: ['Agents.example', 'bücher.example']});
    const hosts = ['agents.example', 'AGENTS.EXAMPLE:8443', 'xn--bcher-kva.example', 'localhost', 'other.example', 'www.agents.example'];
    const statuses = await Promise.all(hosts.map((host) => statusFor(host, server.listener)));
    expect(statuses).toEqual([200, 200, 200, 200, 403, 403]);
  });

  test("answers for any name with `allowedHosts: '*'`", async () => {
    await using server = await serve({allowedHosts: '*'});
    expect(await statusFor('any.example', server.listener)).toBe(200);
  });

  test('is one that was told to listen on `localhost`', async () => {
    await using server = await serve({hostname: 'localhost'});
    expect(await statusFor('evil.example', server.listener)).toBe(403);
  });
});

describe.runIf(hasIPv6)('a listener on the loopback address of IPv6', () => {
  test('answers for it however it is written, and refuses other names', async () => {
    await using server = await serve({hostname: '::1'});
    expect(await Promise.all(['evil.example', '[0:0:0:0:0:0:0:1]'].map((host) => statusFor(host, server.listener)))).toEqual([403, 200]);
  });
});

describe('a listener on another address', () => {
  test('answers for any name', async () => {
    await using server = await serve({hostname: '0.0.0.0'});
    expect(await statusFor('any.example', server.listener)).toBe(200);
  });

  test('keeps to `allowedHosts` where it is given, to this machine, and to what it was told to listen on', async () => {
    await using server = await serve({hostname: '0.0.0.0', allowedHosts: ['agents.example']});
    const hosts = ['agents.example', 'localhost', '0.0.0.0', 'any.example'];
    expect(await Promise.all(hosts.map((host) => statusFor(host, server.listener)))).toEqual([200, 200, 200, 403]);
  });
});
