// A client that leaves, at every moment of its request: the signal fires, the body is cancelled, and nothing is left.
import {getEventListeners, once} from 'node:events';
import {connect} from 'node:net';
import {describe, expect, test} from 'vitest';
import {RawClient} from './raw-client.ts';
import {serve, WatchedBody} from './serving.ts';

const GET = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n';
const POST = 'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello';
/** More than the system takes of what nobody reads, in bytes. */
const MORE_THAN_BUFFERS = 32 * 1024 * 1024;
const left = {name: 'AbortError', message: 'The client has left'};

const aborted = (signal: AbortSignal): Promise<unknown> =>
  new Promise((resolve) => signal.addEventListener('abort', () => resolve(signal.reason), {once: true}));

describe('a client that leaves', () => {
  test.each([
    {moment: 'while the next chunk is awaited', said: GET, reads: false},
    {moment: 'after its body was read to the end', said: POST, reads: true},
    {moment: 'while its body was not read', said: POST, reads: false},
  ])('$moment aborts the signal of its request and cancels the response', async ({said, reads}) => {
    const body = new WatchedBody((n) => (n === 1 ? Buffer.from('first') : undefined));
    const {promise: signal, resolve} = Promise.withResolvers<unknown>();
    await using listener = await serve(async (request) => {
      void aborted(request.signal).then(resolve);
      if (reads) expect(await request.text()).toBe('hello');
      return new Response(body.stream);
    });
    const client = await RawClient.connect(listener.port, said);
    await client.until(/first/);
    await body.waiting.promise;
    client.leave();
    expect(await body.cancelled.promise).toMatchObject(left);
    expect(await signal).toMatchObject(left);
    expect(body.pulls).toBe(2);
  });

  test('before the first chunk aborts and cancels; the headers were sent', async () => {
    const body = new WatchedBody(() => undefined);
    await using listener = await serve(() => new Response(body.stream, {headers: {'content-type': 'text/event-stream'}}));
    const client = await RawClient.connect(listener.port, GET);
    expect(await client.until(/\r\n\r\n$/)).toMatch(/content-type: text\/event-stream/);
    client.leave();
    expect(await body.cancelled.promise).toMatchObject(left);
  });

  test('while it does not read cancels the body that waits for it', async () => {
    const first = Promise.withResolvers<void>();
    const body = new WatchedBody(() => {
      first.resolve();
      return new Uint8Array(MORE_THAN_BUFFERS);
    });
    await using listener = await serve(() => new Response(body.stream));
    const client = await RawClient.connect(listener.port);
    client.socket.pause();
    client.say(GET);
    await first.promise;
    client.leave();
    expect(await body.cancelled.promise).toMatchObject(left);
    expect(body.pulls).toBe(1);
  });

  test('before the handler has answered aborts; the late response is cancelled and never pulled', async () => {
    const body = new WatchedBody(() => new Uint8Array(1));
    const asked = Promise.withResolvers<void>();
    await using listener = await serve(async ({signal}) => {
      const gone = aborted(signal);
      asked.resolve();
      await gone;
      return new Response(body.stream);
    });
    const client = await RawClient.connect(listener.port, GET);
    await asked.promise;
    client.leave();
    expect(await body.cancelled.promise).toMatchObject(left);
    expect(body.pulls).toBe(0);
  });

  test('before its body was sent ends the reading of it', async () => {
    const failed = Promise.withResolvers<unknown>();
    const reading = Promise.withResolvers<void>();
    await using listener = await serve(async (request) => {
      const text = request.text();
      reading.resolve();
      await text.catch(failed.resolve);
      return new Response('late');
    });
    const client = await RawClient.connect(listener.port, 'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 50\r\n\r\nhello');
    await reading.promise;
    client.leave();
    expect(await failed.promise).toMatchObject({name: 'AbortError'});
  });

  test('is noticed though nobody holds the request, however often memory is collected', async () => {
    const signal = Promise.withResolvers<unknown>();
    await using listener = await serve((request) => {
      request.signal.addEventListener('abort', ({target}) => signal.resolve((target as AbortSignal).reason));
      return new Response(new WatchedBody(() => undefined).stream);
    });
    const client = await RawClient.connect(listener.port, GET);
    await client.until(/\r\n\r\n/);
    // Without this flag the test shows less, and still holds.
    (globalThis as {gc?: () => void}).gc?.();
    client.leave();
    expect(await signal.promise).toMatchObject(left);
  });
});

test('a client that stays is told all, its signal never fires, and no listener is left on it', async () => {
  const signals: AbortSignal[] = [];
  await using listener = await serve((request) => {
    signals.push(request.signal);
    return new Response('all of it');
  });
  for (const path of ['1', '2']) expect(await (await fetch(`${listener.url}/${path}`)).text()).toBe('all of it');
  await listener.close();
  expect(signals.map(({aborted}) => aborted)).toEqual([false, false]);
  expect(signals.flatMap((signal) => getEventListeners(signal, 'abort'))).toEqual([]);
});

test('a body is asked for more only when the client has taken what there was', async () => {
  const body = new WatchedBody((n) => (n === 1 ? new Uint8Array(MORE_THAN_BUFFERS) : undefined));
  await using listener = await serve(({url}) => new Response(url.endsWith('/other') ? 'other' : body.stream));
  const client = connect(listener.port, '127.0.0.1');
  client.write(GET);
  await once(client, 'readable');
  for (let times = 0; times < 5; times++) expect(await (await fetch(`${listener.url}/other`)).text()).toBe('other');
  expect(body.pulls).toBe(1);
  client.resume();
  await body.waiting.promise;
  expect(body.pulls).toBe(2);
  client.destroy();
  await body.cancelled.promise;
});
