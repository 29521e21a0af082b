import {getEventListeners} from 'node:events';
import {setImmediate as nextTurn} from 'node:timers/promises';

import {afterEach, describe, expect, test, vi} from 'vitest';

import {Gemini} from '../../lib/gemini/index.ts';
import {ask, geminiAt, nextTimer, rejection, streamed, whole} from './asking.ts';
import {failure, rawServer, silence, stalled, stream, text} from './raw-server.ts';

afterEach(() => vi.restoreAllMocks());

const reason = {why: 'the user pressed stop'};

function listeners({signal}: AbortController): number {
  return getEventListeners(signal, 'abort').length;
}

describe('an abort', () => {
  test.each([{stream: true}, {stream: false}])(
    'before the headers closes the socket and rejects with the reason, streamed: $stream',
    async (mode) => {
      await using server = await rawServer(silence);
      const stop = new AbortController();
      const pending = rejection(geminiAt(server).generateContentAsync(ask(), mode.stream, stop.signal).next());
      const request = await server.request(0);

      stop.abort(reason);

      expect(await pending).toBe(reason);
      expect(await request.closed).toBe('closed early');
      expect(listeners(stop)).toBe(0);
    },
  );

  test.each([{stream: true}, {stream: false}])(
    'after the headers closes the socket and rejects with the reason, streamed: $stream',
    async (mode) => {
      await using server = await rawServer(stalled());
      const headers = Promise.withResolvers<void>();
      const model = geminiAt(server, {
        httpOptions: {
          fetch: async (input, init) => {
            const response = await fetch(input, init);
            headers.resolve();
            return response;
          },
        },
      });
      const stop = new AbortController();
      const pending = rejection(model.generateContentAsync(ask(), mode.stream, stop.signal).next());
      await headers.promise;

      stop.abort(reason);

      expect(await pending).toBe(reason);
      expect(await (await server.request(0)).closed).toBe('closed early');
      expect(listeners(stop)).toBe(0);
    },
  );

  test('in mid stream closes the socket and rejects the pending read with the reason', async () => {
    await using server = await rawServer(stalled(text('one')));
    const stop = new AbortController();
    const responses = geminiAt(server).generateContentAsync(ask(), true, stop.signal);
    expect(await responses.next()).toMatchObject({value: {partial: true, content: {parts: [{text: 'one'}]}}});
    const pending = rejection(responses.next());

    stop.abort(reason);

    expect(await pending).toBe(reason);
    expect(await (await server.request(0)).closed).toBe('closed early');
    expect(await responses.next()).toEqual({done: true, value: undefined});
    expect(listeners(stop)).toBe(0);
  });

  test('while the reader is busy closes the socket at once, and the next read rejects', async () => {
    await using server = await rawServer(stalled(text('one')));
    const stop = new AbortController();
    const responses = geminiAt(server).generateContentAsync(ask(), true, stop.signal);
    await responses.next();

    stop.abort(reason);

    expect(await (await server.request(0)).closed).toBe('closed early');
    expect(await rejection(responses.next())).toBe(reason);
    expect(listeners(stop)).toBe(0);
  });

  test('during a back-off ends it at once, and no further request is made', async () => {
    await using server = await rawServer(failure(503, 'UNAVAILABLE'));
    const cleared = vi.spyOn(globalThis, 'clearTimeout');
    const backOff = nextTimer((ms) => ms >= 20_000);
    const stop = new AbortController();
    const model = geminiAt(server, {retryDelayMs: 30_000, firstChunkMs: Infinity, totalMs: Infinity});
    const pending = rejection(model.generateContentAsync(ask(), true, stop.signal).next());
    const {timer} = await backOff;

    stop.abort(reason);

    expect(await pending).toBe(reason);
    expect(cleared).toHaveBeenCalledWith(timer);
    expect(server.requests).toHaveLength(1);
    expect(listeners(stop)).toBe(0);
  });

  test('while an auth token is fetched rejects at once, and no request is made', async () => {
    await using server = await rawServer(stream(text('late', 'STOP')));
    const asked = Promise.withResolvers<void>();
    const token = Promise.withResolvers<Headers>();
    const model = new Gemini({
      model: 'gemini-test',
      project: 'p',
      location: 'l',
      httpOptions: {baseUrl: server.url},
      googleAuthOptions: {authClient: authClient(() => (asked.resolve(), token.promise))},
    });
    const stop = new AbortController();
    const pending = rejection(model.generateContentAsync(ask(), true, stop.signal).next());
    await asked.promise;

    stop.abort(reason);
    expect(await pending).toBe(reason);
    expect(listeners(stop)).toBe(0);

    token.resolve(new Headers({authorization: 'Bearer T'}));
    for (let turn = 0; turn < 20; turn += 1) await nextTurn();
    expect(server.requests).toHaveLength(0);
  });

  test('while genai is loaded rejects at once, and no request is made', async () => {
    await using server = await rawServer(stream(text('late', 'STOP')));
    const stop = new AbortController();
    const pending = rejection(geminiAt(server).generateContentAsync(ask(), true, stop.signal).next());

    stop.abort(reason);

    expect(await pending).toBe(reason);
    for (let turn = 0; turn < 20; turn += 1) await nextTurn();
    expect(server.requests).toHaveLength(0);
    expect(listeners(stop)).toBe(0);
  });

  test('that came before the call starts nothing', async () => {
    await using server = await rawServer(silence);
    expect(await rejection(streamed(geminiAt(server), ask(), AbortSignal.abort(reason)))).toBe(reason);
    expect(server.requests).toHaveLength(0);
  });

  test.each([
    {kind: 'a string', given: 'stop'},
    {kind: 'null', given: null},
    {kind: 'zero', given: 0},
    {kind: 'an error', given: new RangeError('own')},
    {kind: 'an AbortError', given: new DOMException('own', 'AbortError')},
  ])('with $kind as its reason rejects with just that', async ({given}) => {
    await using server = await rawServer(stalled(text('one')));
    const stop = new AbortController();
    const responses = geminiAt(server).generateContentAsync(ask(), true, stop.signal);
    await responses.next();
    const pending = rejection(responses.next());
    stop.abort(given);
    expect(await pending).toBe(given);
  });

  test('of the signal in the config of the request is not listened to: the call has its own', async () => {
    await using server = await rawServer(stream(text('one', 'STOP')));
    const other = new AbortController();
    const responses = await streamed(geminiAt(server), ask(undefined, {abortSignal: other.signal}));
    expect(responses).toHaveLength(2);
    expect(listeners(other)).toBe(0);
  });
});

describe('an early return', () => {
  test('by break after the first partial closes the socket and throws nothing', async () => {
    await using server = await rawServer(stalled(text('one')));
    const stop = new AbortController();
    const seen: unknown[] = [];
    for await (const response of geminiAt(server).generateContentAsync(ask(), true, stop.signal)) {
      seen.push(response.content?.parts);
      break;
    }
    expect(seen).toEqual([[{text: 'one'}]]);
    expect(await (await server.request(0)).closed).toBe('closed early');
    expect(listeners(stop)).toBe(0);
  });

  test('before the first read starts nothing', async () => {
    await using server = await rawServer(silence);
    const stop = new AbortController();
    const responses = geminiAt(server).generateContentAsync(ask(), true, stop.signal);
    expect(await responses.return()).toEqual({done: true, value: undefined});
    expect(server.requests).toHaveLength(0);
    expect(listeners(stop)).toBe(0);
  });

  test('by throw() passes the error through and closes the socket', async () => {
    await using server = await rawServer(stalled(text('one')));
    const responses = geminiAt(server).generateContentAsync(ask(), true);
    await responses.next();
    expect(await rejection(responses.throw(reason))).toBe(reason);
    expect(await (await server.request(0)).closed).toBe('closed early');
  });
});

describe('a call that ended by itself', () => {
  test('leaves no listener, whether it succeeded or failed, streamed or not', async () => {
    const stop = new AbortController();
    {
      await using server = await rawServer(stream(text('one', 'STOP')));
      for (let call = 0; call < 20; call += 1) await streamed(geminiAt(server), ask(), stop.signal);
    }
    {
      await using server = await rawServer(failure(400, 'INVALID_ARGUMENT'));
      for (let call = 0; call < 20; call += 1) await rejection(whole(geminiAt(server), ask(), stop.signal));
    }
    expect(listeners(stop)).toBe(0);
  });

  test('holds nothing any more while its last response is with the reader', async () => {
    await using server = await rawServer(stream(text('one', 'STOP')));
    const stop = new AbortController();
    const responses = geminiAt(server).generateContentAsync(ask(), true, stop.signal);
    await responses.next();
    expect(await responses.next()).toMatchObject({done: false, value: {finishReason: 'STOP'}});
    expect(listeners(stop)).toBe(0);
  });

  test('keeps its connection for later ones', async () => {
    await using server = await rawServer(stream(text('one', 'STOP')));
    const model = geminiAt(server);
    for (let call = 0; call < 10; call += 1) await streamed(model);
    // Node's fetch takes two in turn.
    expect(new Set(server.requests.map(({socket}) => socket)).size).toBeLessThanOrEqual(2);
  });
});

/** What google-auth-library needs of a client. */
function authClient(getRequestHeaders: () => Promise<Headers>): never {
  return {getRequestHeaders} as never;
}
