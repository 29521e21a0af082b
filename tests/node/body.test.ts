// The body of a request: read, refused, asked for.
import {request as httpRequest} from 'node:http';
import {describe, expect, test} from 'vitest';
import {RawClient, statusLine} from './raw-client.ts';
import {serve} from './serving.ts';

describe('a body', () => {
  /** Sends so many bytes, whatever is answered meanwhile, and gives the answer. */
  function upload(port: number, bytes: number): Promise<{status: number | undefined; text: string}> {
    return new Promise((resolve, reject) => {
      const request = httpRequest({port, host: '127.0.0.1', method: 'POST', headers: {'content-length': bytes}}, (response) => {
        let text = '';
        response.on('data', (data: Buffer) => (text += data.toString())).on('end', () => resolve({status: response.statusCode, text}));
      });
      request.on('error', reject).end(Buffer.alloc(bytes));
    });
  }

  test('is read as it comes', async () => {
    const heard = Promise.withResolvers<void>();
    await using listener = await serve(async (request) => {
      let text = '';
      for await (const chunk of request.body ?? []) {
        text += Buffer.from(chunk).toString();
        heard.resolve();
      }
      return new Response(`<${text}>`);
    });
    using client = await RawClient.connect(listener.port, 'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n');
    await heard.promise;
    client.say('3\r\ntwo\r\n0\r\n\r\n');
    expect(await client.until(/<.*>/)).toContain('<onetwo>');
  });

  test.each([
    {what: 'unread', act: async (): Promise<void> => {}},
    {what: 'cancelled', act: async (request: Request): Promise<void> => request.body?.cancel()},
    {
      what: 'read in part',
      act: async (request: Request): Promise<void> => {
        const reader = request.body?.getReader();
        await reader?.read();
        await reader?.cancel();
      },
    },
    {
      what: 'read in part and held',
      act: async (request: Request): Promise<void> => void (await request.body?.getReader().read()),
    },
  ])('that is $what is refused so that the client sees it, and the connection stays', async ({act}) => {
    await using listener = await serve(async (request) => {
      if (request.method === 'GET') return new Response('<two>');
      await act(request);
      return new Response('too much', {status: 413});
    });
    expect(await upload(listener.port, 20_000_000)).toEqual({status: 413, text: 'too much'});
    const body = 'x'.repeat(300_000);
    using client = await RawClient.connect(
      listener.port,
      `POST / HTTP/1.1\r\nHost: a\r\nContent-Length: ${body.length}\r\n\r\n${body}GET / HTTP/1.1\r\nHost: a\r\n\r\n`,
    );
    expect(statusLine(await client.until(/<two>/))).toBe('HTTP/1.1 413 Payload Too Large');
  });

  test('that does not end after it was refused has its connection closed', async () => {
    await using listener = await serve(() => new Response('too much', {status: 413}));
    using client = await RawClient.connect(listener.port, 'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n');
    const chunk = `10000\r\n${'x'.repeat(65_536)}\r\n`;
    const send = (): void => {
      while (!client.socket.destroyed && client.socket.write(chunk));
    };
    client.socket.on('drain', send);
    send();
    expect(statusLine(await client.ended())).toBe('HTTP/1.1 413 Payload Too Large');
  });

  const asks = 'POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n';

  test('whose client asks first is let go on when it is read', async () => {
    await using listener = await serve(async (request) => new Response(`<${await request.text()}>`));
    using client = await RawClient.connect(listener.port, asks);
    expect(await client.until(/\r\n\r\n/)).toBe('HTTP/1.1 100 Continue\r\n\r\n');
    client.say('hello');
    expect(await client.until(/<.*>/)).toContain('<hello>');
  });

  test('whose client asks first is refused before it is sent', async () => {
    await using listener = await serve(() => new Response('too much', {status: 413}));
    using client = await RawClient.connect(listener.port, asks);
    const text = await client.ended();
    expect(statusLine(text)).toBe('HTTP/1.1 413 Payload Too Large');
    expect(text).not.toContain('100 Continue');
  });

  test('of a GET is no body', async () => {
    await using listener = await serve((request) => new Response(`<${String(request.body)}>`));
    using client = await RawClient.connect(listener.port, 'GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello');
    expect(await client.until(/<.*>/)).toContain('<null>');
  });
});
