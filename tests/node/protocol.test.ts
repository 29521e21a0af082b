// What stands on the wire, byte by byte where that matters.
import {describe, expect, test} from 'vitest';
import {RawClient, statusLine} from './raw-client.ts';
import {serve, WatchedBody} from './serving.ts';

const echoUrl = (request: Request): Response => new Response(`<${request.method} ${request.url}>`);

describe('a request', () => {
  test.each([
    {target: '/a/b?c=d', host: 'a.example:8080', url: 'http://a.example:8080/a/b?c=d'},
    {target: '//elsewhere/x', host: 'a', url: 'http://a//elsewhere/x'},
    {target: '/%zz', host: 'a', url: 'http://a/%zz'},
    {target: 'http://b/x', host: 'a', url: 'http://b/x'},
    {target: '/', host: '[::1]:80', url: 'http://[::1]/'},
  ])('for $target of $host has the URL $url', async ({target, host, url}) => {
    await using listener = await serve(echoUrl);
    using client = await RawClient.connect(listener.port, `GET ${target} HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
    expect(await client.until(/<.*>/)).toContain(`<GET ${url}>`);
  });

  test.each([
    ['GET / HTTP/1.1\r\nHost: a b{}\r\n\r\n', 400],
    ['GET / HTTP/1.1\r\nHost: a/b?c\r\n\r\n', 400],
    ['GET / HTTP/1.1\r\nHost: user@a\r\n\r\n', 400],
    ['GET / HTTP/1.1\r\nHost: a:99999\r\n\r\n', 400],
    ['GET / HTTP/1.1\r\nHost:\r\n\r\n', 400],
    ['GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n', 400],
    ['GET / HTTP/1.1\r\nHost: a\r\nhost: a\r\n\r\n', 400],
    ['GET http://a/ HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n', 400],
    ['GET http://a/ HTTP/1.1\r\nHost: a/b\r\n\r\n', 400],
    ['GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n', 400],
    ['GET http:// HTTP/1.1\r\nHost: a\r\n\r\n', 400],
    ['GET ftp://a/ HTTP/1.1\r\nHost: a\r\n\r\n', 400],
    ['OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n', 400],
    ['TRACE / HTTP/1.1\r\nHost: a\r\n\r\n', 501],
    ['NONSENSE\r\n\r\n', 400],
  ])('%j is answered with %i, and never reaches the handler', async (said, status) => {
    let asked = 0;
    await using listener = await serve(() => new Response(String((asked += 1))));
    using client = await RawClient.connect(listener.port, said);
    expect(statusLine(await client.until(/\r\n\r\n/))).toContain(` ${status} `);
    expect((await fetch(listener.url)).status).toBe(200);
    expect(asked).toBe(1);
  });

  test('of HTTP/1.0 needs no Host', async () => {
    await using listener = await serve(echoUrl);
    using client = await RawClient.connect(listener.port, 'GET /x HTTP/1.0\r\n\r\n');
    expect(await client.ended()).toContain('<GET http://localhost/x>');
  });

  test('keeps headers that come twice', async () => {
    await using listener = await serve(({headers}) => new Response(`<${headers.get('x-a')} ${headers.get('cookie')}>`));
    using client = await RawClient.connect(
      listener.port,
      'GET / HTTP/1.1\r\nHost: a\r\nX-A: 1\r\nX-A: 2\r\nCookie: a=1\r\nCookie: b=2\r\n\r\n',
    );
    expect(await client.until(/<.*>/)).toContain('<1, 2 a=1; b=2>');
  });

  test('that was sent ahead starts when the one before has been answered', async () => {
    const log: string[] = [];
    const first = Promise.withResolvers<void>();
    await using listener = await serve(async ({url}) => {
      log.push(`start ${new URL(url).pathname}`);
      if (url.endsWith('/1')) await first.promise;
      log.push(`end ${new URL(url).pathname}`);
      return new Response(`<${url}>`);
    });
    using client = await RawClient.connect(
      listener.port,
      'GET /1 HTTP/1.1\r\nHost: a\r\n\r\nPOST /2 HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nhi',
    );
    await fetch(`${listener.url}/0`);
    first.resolve();
    await client.until(/\/1>[^]*\/2>/);
    expect(log).toEqual(['start /1', 'start /0', 'end /0', 'end /1', 'start /2', 'end /2']);
  });
});

describe('a response', () => {
  test('sends every Set-Cookie', async () => {
    await using listener = await serve(() => {
      const headers = new Headers([
        ['set-cookie', 'a=1'],
        ['set-cookie', 'b=2'],
      ]);
      return new Response(null, {status: 201, statusText: 'Made', headers});
    });
    using client = await RawClient.connect(listener.port, 'GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n');
    const text = await client.ended();
    expect(statusLine(text)).toBe('HTTP/1.1 201 Made');
    expect(text.match(/set-cookie: .*/g)).toEqual(['set-cookie: a=1', 'set-cookie: b=2']);
  });

  test('to HEAD has no body, and the handler is told that nobody wants it', async () => {
    const body = new WatchedBody(() => new Uint8Array(1));
    await using listener = await serve(() => new Response(body.stream, {headers: {'x-a': 'b'}}));
    const response = await fetch(listener.url, {method: 'HEAD'});
    expect([response.status, response.headers.get('x-a'), await response.text()]).toEqual([200, 'b', '']);
    await body.cancelled.promise;
    expect(body.pulls).toBe(0);
  });

  test.each([204, 304])('of status %i leaves the connection fit for the next request', async (status) => {
    await using listener = await serve(({url}) => (url.endsWith('/1') ? new Response(null, {status}) : new Response('<two>')));
    using client = await RawClient.connect(listener.port, 'GET /1 HTTP/1.1\r\nHost: a\r\n\r\nGET /2 HTTP/1.1\r\nHost: a\r\n\r\n');
    expect(statusLine(await client.until(/<two>/))).toContain(` ${status} `);
  });

  test('whose body fails breaks the connection, and the listener for errors is told', async () => {
    const errors: unknown[] = [];
    const body = new WatchedBody((n) => {
      if (n === 1) return Buffer.from('first');
      throw new Error('secret');
    });
    await using listener = await serve(() => new Response(body.stream), {onError: (error) => errors.push(error)});
    await expect(fetch(listener.url).then((response) => response.text())).rejects.toThrow('terminated');
    expect(errors).toEqual([new Error('secret')]);
  });

  test.each([
    {what: 'a handler that throws', answer: (): Response => expect.unreachable('secret'), error: /secret/},
    {what: 'a response that cannot be sent', answer: (): Response => Response.error(), error: /status code/},
    {
      what: 'a response whose body was read',
      answer: async (): Promise<Response> => {
        const response = new Response('once');
        await response.text();
        return response;
      },
      error: /locked|disturbed|read/,
    },
  ])('of $what is 500, without a word of why', async ({answer, error}) => {
    const errors: unknown[] = [];
    await using listener = await serve(answer, {onError: (error_) => errors.push(error_)});
    const response = await fetch(listener.url);
    expect(response.status).toBe(500);
    expect(await response.text()).not.toMatch(error);
    expect(errors.map(String)).toEqual([expect.stringMatching(error)]);
  });
});
