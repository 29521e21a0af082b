import {GoogleGenAI, type GenerateContentResponse} from '@google/genai/web';
import {afterEach, beforeEach, describe, expect, test} from 'vitest';
import {answer, calls, chunks, failure, GeminiServer, raw} from '../../lib/testing/index.ts';

let server: GeminiServer;
beforeEach(async () => {
  server = await GeminiServer.start();
});
afterEach(() => server.close());

interface Ask {
  readonly model?: string;
  readonly version?: string;
  readonly query?: string;
  readonly stream?: boolean;
  readonly body?: unknown;
  readonly headers?: Record<string, string>;
  readonly signal?: AbortSignal;
}

const hello = {contents: [{role: 'user', parts: [{text: 'Hi'}]}]};

function ask({
  model = 'gemini-2.5-flash',
  version = 'v1beta',
  query,
  stream = true,
  body = hello,
  headers,
  signal,
}: Ask = {}): Promise<Response> {
  const action = stream ? `streamGenerateContent?${query ?? 'alt=sse'}` : `generateContent${query ? `?${query}` : ''}`;
  return fetch(`${server.url}/${version}/models/${model}:${action}`, {
    method: 'POST',
    headers: {'x-goog-api-key': 'k', ...headers},
    body: typeof body === 'string' ? body : JSON.stringify(body),
    ...(signal ? {signal} : {}),
  });
}

function client(): GoogleGenAI {
  return new GoogleGenAI({apiKey: 'k', apiVersion: 'v1beta', httpOptions: {baseUrl: server.url}});
}

async function readAll(response: Response): Promise<Uint8Array[]> {
  const pieces: Uint8Array[] = [];
  for await (const piece of response.body ?? []) pieces.push(piece);
  return pieces;
}

async function streamed(model = 'gemini-2.5-flash'): Promise<GenerateContentResponse[]> {
  const responses: GenerateContentResponse[] = [];
  for await (const response of await client().models.generateContentStream({model, contents: 'Hi'})) responses.push(response);
  return responses;
}

const partsOf = (responses: readonly GenerateContentResponse[]): unknown[] =>
  responses.map(({candidates}) => candidates?.[0]?.content?.parts);

describe('GeminiServer frames', () => {
  test('a stream as Google does, to the byte', async () => {
    server.reply(chunks(['Hel', 'lo: "{a, b}"']));
    const response = await ask();
    expect(Object.fromEntries(response.headers)).toMatchObject({
      'content-type': 'text/event-stream',
      'content-disposition': 'attachment',
      server: 'scaffolding on HTTPServer2',
      'transfer-encoding': 'chunked',
      vary: 'Origin, X-Origin, Referer',
    });
    const rest =
      '"usageMetadata": {"promptTokenCount": 8,"candidatesTokenCount": 4,"totalTokenCount": 12},"modelVersion": "gemini-2.5-flash","responseId": "response-0"}';
    expect(await response.text()).toBe(
      `data: {"candidates": [{"content": {"parts": [{"text": "Hel"}],"role": "model"},"index": 0}],${rest}\r\n\r\n` +
        `data: {"candidates": [{"content": {"parts": [{"text": "lo: \\"{a, b}\\""}],"role": "model"},"finishReason": "STOP","index": 0}],${rest}\r\n\r\n`,
    );
  });

  test('a unary answer as pretty JSON, its chunks merged', async () => {
    server.reply(chunks(['Hel', 'lo', [{functionCall: {name: 'f', args: {}}, thoughtSignature: 'c2ln'}], ''], {thoughts: 'Hm'}));
    const response = await ask({stream: false});
    expect(response.headers.get('content-type')).toBe('application/json; charset=UTF-8');
    const text = await response.text();
    const body = JSON.parse(text) as Record<string, unknown>;
    expect(text).toBe(`${JSON.stringify(body, null, 2)}\n`);
    const parts = [{text: 'Hm', thought: true}, {text: 'Hello'}, {functionCall: {name: 'f', args: {}}, thoughtSignature: 'c2ln'}];
    expect(body['candidates']).toEqual([{content: {parts, role: 'model'}, finishReason: 'STOP', index: 0}]);
  });

  test('a stream without alt=sse as a JSON array', async () => {
    server.reply(chunks(['a', 'b']), chunks([]));
    const response = await ask({query: 'key=k'});
    expect(response.headers.get('content-type')).toBe('application/json; charset=UTF-8');
    const text = await response.text();
    expect(text).toMatch(/^\[\{\n/);
    expect(text).toContain('}\n,\r\n{');
    expect(JSON.parse(text)).toHaveLength(2);
    expect(await (await ask({query: 'key=k'})).json()).toEqual([]);
  });

  test('an error as pretty JSON, on a stream as text/event-stream', async () => {
    server.reply(
      failure({code: 429, retryDelay: '34.4s'}),
      failure({code: 503}),
      failure({code: 418, status: 'TEAPOT', message: 'm', details: [{a: 1}]}),
    );
    const quota = await ask();
    expect([quota.status, quota.headers.get('content-type')]).toEqual([429, 'text/event-stream']);
    const text = await quota.text();
    expect(quota.headers.get('content-length')).toBe(String(text.length));
    const error = {
      code: 429,
      message: 'Resource has been exhausted (e.g. check quota).',
      status: 'RESOURCE_EXHAUSTED',
      details: [{'@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '34.4s'}],
    };
    expect(text).toBe(`${JSON.stringify({error}, null, 2)}\n`);
    const overload = await ask({stream: false});
    expect([overload.status, overload.headers.get('content-type')]).toEqual([503, 'application/json; charset=UTF-8']);
    expect(await overload.json()).toEqual({
      error: {code: 503, message: 'The model is overloaded. Please try again later.', status: 'UNAVAILABLE'},
    });
    expect(await (await ask()).json()).toEqual({error: {code: 418, message: 'm', status: 'TEAPOT', details: [{a: 1}]}});
  });

  test('a raw body byte for byte, with headers of its own', async () => {
    server.reply(raw('{"é": 1}'), raw(['a', 'b'], {status: 502, headers: {'Content-Type': 'text/html'}}));
    expect(await (await ask()).text()).toBe('{"é": 1}');
    const second = await ask();
    expect([second.status, second.headers.get('content-type'), await second.text()]).toEqual([502, 'text/html', 'ab']);
  });

  test.each([1, 2, 7, 61])('in HTTP chunks of %i bytes', async (chunkBytes) => {
    const body = 'data: {"text": "Zürich"}\r\n\r\n'.repeat(20);
    server.reply(raw(body, {chunkBytes}));
    const pieces = await readAll(await ask());
    expect(Buffer.concat(pieces).toString()).toBe(body);
    expect(pieces.slice(0, -1).every((piece) => piece.length === chunkBytes)).toBe(true);
    expect(server.requests[0]?.bytesSent).toBe(Buffer.byteLength(body));
  });

  test('an address that it does not know as 404 in HTML', async () => {
    const response = await fetch(`${server.url}/v1beta/nothing`);
    expect([response.status, response.headers.get('content-type')]).toEqual([404, 'text/html; charset=UTF-8']);
  });
});

describe('GeminiServer answers the real SDK', () => {
  test('with a streamed text', async () => {
    server.reply(chunks(['Hel', 'lo'], {finishReason: 'MAX_TOKENS', usageMetadata: {totalTokenCount: 7}}));
    const responses = await streamed();
    expect(responses.map(({text}) => text)).toEqual(['Hel', 'lo']);
    expect(responses[1]?.candidates?.[0]?.finishReason).toBe('MAX_TOKENS');
    expect(responses[1]?.usageMetadata).toEqual({totalTokenCount: 7});
  });

  test('with an unary text, thoughts and a signature', async () => {
    server.reply(answer('Hello', {thoughts: 'Greet.', thoughtSignature: 'c2ln'}));
    const response = await client().models.generateContent({model: 'gemini-2.5-flash', contents: 'Hi'});
    expect(response.text).toBe('Hello');
    expect(partsOf([response])).toEqual([
      [
        {text: 'Greet.', thought: true},
        {text: 'Hello', thoughtSignature: 'c2ln'},
      ],
    ]);
  });

  test('with calls as Gemini 2.5 gives them: in one chunk, without ids', async () => {
    server.reply(calls([{name: 'f', args: {x: 1}}, {name: 'g'}]));
    const responses = await streamed('gemini-2.5-flash');
    expect(partsOf(responses)).toEqual([[{functionCall: {name: 'f', args: {x: 1}}}, {functionCall: {name: 'g', args: {}}}]]);
    expect(responses[0]?.candidates?.[0]?.finishReason).toBe('STOP');
  });

  test('with calls as Gemini 3 gives them: a chunk each, with ids, the first one signed, an empty text at the end', async () => {
    server.reply(
      calls([
        {name: 'f', args: {x: 1}},
        {name: 'g', id: 'mine'},
      ]),
    );
    const responses = await streamed('gemini-3-pro');
    expect(partsOf(responses)).toEqual([
      [{functionCall: {name: 'f', args: {x: 1}, id: 'call-0-0'}, thoughtSignature: btoa('thought 0')}],
      [{functionCall: {name: 'g', args: {}, id: 'mine'}}],
      [{text: ''}],
    ]);
    expect(responses.map(({candidates}) => candidates?.[0]?.finishReason)).toEqual([undefined, undefined, 'STOP']);
  });

  test('with an error that it nests as the real one', async () => {
    server.reply(failure({code: 404}));
    await expect(streamed()).rejects.toMatchObject({
      name: 'ApiError',
      status: 404,
      message: expect.stringContaining('\\"status\\": \\"NOT_FOUND\\"') as string,
    });
  });

  test('on Vertex, too', async () => {
    server.reply(answer('From Vertex'));
    const vertex = new GoogleGenAI({vertexai: true, apiKey: 'k', httpOptions: {baseUrl: server.url}});
    const response = await vertex.models.generateContent({model: 'gemini-2.5-flash', contents: 'Hi'});
    expect(response.text).toBe('From Vertex');
    expect(server.requests[0]).toMatchObject({
      backend: 'vertex',
      apiVersion: 'v1beta1',
      model: 'gemini-2.5-flash',
      action: 'generateContent',
      path: '/v1beta1/publishers/google/models/gemini-2.5-flash:generateContent',
    });
  });
});

describe('GeminiServer records', () => {
  test('what a request holds', async () => {
    server.reply(answer('ok'));
    await streamed();
    const [request] = server.requests;
    expect(request).toMatchObject({
      index: 0,
      method: 'POST',
      path: '/v1beta/models/gemini-2.5-flash:streamGenerateContent',
      apiVersion: 'v1beta',
      backend: 'gemini',
      model: 'gemini-2.5-flash',
      action: 'streamGenerateContent',
      stream: true,
      body: hello,
      refusal: undefined,
    });
    expect(request?.headers['x-goog-api-key']).toBe('k');
    expect(await request?.closed).toMatchObject({early: false});
    expect(request?.closedEarly).toBe(false);
  });

  test('each request for one nextRequest(), come or to come', async () => {
    const first = server.nextRequest();
    server.reply(answer('1'), answer('2'), answer('3'));
    for (const model of ['m1', 'm2', 'm3']) await (await ask({model})).text();
    expect((await first).model).toBe('m1');
    expect((await server.nextRequest()).model).toBe('m2');
    expect((await server.nextRequest()).model).toBe('m3');
    const never = server.nextRequest();
    await server.close();
    await expect(never).rejects.toThrow('The server was closed before another request came');
    await expect(server.nextRequest()).rejects.toThrow('The server was closed');
  });

  test('a client that leaves mid stream, and closes the source of the chunks', async () => {
    const source = Promise.withResolvers<void>();
    server.reply(
      chunks(
        (function* () {
          try {
            for (;;) yield 'more ';
          } finally {
            source.resolve();
          }
        })(),
      ),
    );
    const stop = new AbortController();
    const response = await ask({signal: stop.signal});
    await response.body?.getReader().read();
    const [request] = server.requests;
    expect(request?.closedEarly).toBe(false);
    stop.abort();
    const {early, afterMs} = (await request?.closed) ?? {};
    expect(early).toBe(true);
    expect(request?.closedEarly).toBe(true);
    expect(afterMs).toBeGreaterThan(0);
    expect(request?.bytesSent).toBeGreaterThan(0);
    await source.promise;
  });

  test('its own close as no early one', async () => {
    server.reply(answer('never', {fault: {kind: 'stall', after: 0}}));
    const response = await ask();
    await server.close();
    expect(await server.requests[0]?.closed).toMatchObject({early: false});
    await expect(response.text()).rejects.toThrow('terminated');
  });
});

describe('GeminiServer replies', () => {
  test('by a function of the request, and by a promise among the chunks', async () => {
    const gate = Promise.withResolvers<string>();
    server.reply(async ({body}) => chunks([`${body.contents?.length} `, gate.promise]));
    const response = await ask();
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
    expect((await reader?.read())?.value).toContain('"text": "1 "');
    gate.resolve('open');
    expect((await reader?.read())?.value).toContain('"text": "open"');
    expect((await reader?.read())?.done).toBe(true);
  });

  test('with the finish reason behind an iterable whose end nobody knows', async () => {
    server.reply(
      chunks(
        (async function* () {
          yield 'a';
        })(),
      ),
    );
    const responses = await streamed();
    expect(partsOf(responses)).toEqual([[{text: 'a'}], [{text: ''}]]);
    expect(responses[1]?.candidates?.[0]?.finishReason).toBe('STOP');
  });

  test('with a whole response as it is given', async () => {
    server.reply(chunks([{promptFeedback: {blockReason: 'SAFETY'}}]));
    expect(await (await ask()).text()).toBe('data: {"promptFeedback": {"blockReason": "SAFETY"}}\r\n\r\n');
  });

  test('with a 400 that says so when it has none, or when a reply function throws', async () => {
    const reply = async (): Promise<unknown> => ((await (await ask()).json()) as {error: unknown}).error;
    expect(await reply()).toEqual({code: 400, status: 'FAILED_PRECONDITION', message: 'GeminiServer has no reply for request 0'});
    server.reply(() => {
      throw new Error('oops');
    });
    expect(await reply()).toMatchObject({code: 400, message: 'The reply function for request 1 threw: oops'});
    expect(server.unusedReplies).toBe(0);
  });
});

describe('GeminiServer misbehaves', () => {
  const first = 'data: {"candidates": [{"content": {"parts": [{"text": "a"}]';

  test.each(['request', 0, 1] as const)('by a stall after %s, until the client leaves', async (after) => {
    server.reply(chunks(['a', 'b'], {fault: {kind: 'stall', after}}));
    const stop = new AbortController();
    const got: string[] = [];
    const reading = (async () => {
      const response = await ask({signal: stop.signal});
      got.push('headers');
      for await (const piece of response.body ?? []) got.push(Buffer.from(piece).toString().slice(0, first.length));
    })();
    const request = await server.nextRequest();
    const expected = {request: [], 0: ['headers'], 1: ['headers', first]}[after];
    await expect.poll(() => got).toEqual(expected);
    stop.abort();
    await expect(reading).rejects.toThrow('aborted');
    expect(await request.closed).toMatchObject({early: true});
    expect(got).toEqual(expected);
  });

  test('by a reset before the headers', async () => {
    server.reply(answer('a', {fault: {kind: 'reset', after: 'request'}}));
    await expect(ask()).rejects.toMatchObject({message: 'fetch failed', cause: {code: 'ECONNRESET'}});
    expect(await server.requests[0]?.closed).toMatchObject({early: false});
  });

  test('by a reset mid stream, which the client gets after what came before', async () => {
    server.reply(chunks(['a', 'b'], {fault: {kind: 'reset', after: 1, bytes: 9}}));
    const response = await ask();
    const got: string[] = [];
    const reading = (async () => {
      for await (const piece of response.body ?? []) got.push(Buffer.from(piece).toString());
    })();
    await expect(reading).rejects.toThrow('terminated');
    expect(got.join('')).toMatch(/^data: .*\r\n\r\ndata: \{"c$/);
  });

  test('by a clean end without a finish reason, which the SDK takes for success', async () => {
    server.reply(chunks(['a', 'b'], {fault: {kind: 'cut', after: 1}}));
    const responses = await streamed();
    expect(partsOf(responses)).toEqual([[{text: 'a'}]]);
    expect(responses[0]?.candidates?.[0]?.finishReason).toBeUndefined();
  });

  test('by an end in the middle of a JSON', async () => {
    server.reply(chunks(['a', 'b'], {fault: {kind: 'cut', after: 1, bytes: 30}}));
    await expect(streamed()).rejects.toThrow('Incomplete JSON segment at the end');
  });

  test('by a raw error in mid stream', async () => {
    server.reply(
      chunks(['a', 'b'], {fault: {kind: 'error', after: 1}}),
      chunks(['a'], {fault: {kind: 'error', after: 0, body: 'data: {"error": {"code": 500}}\r\n\r\n'}}),
    );
    const text = await (await ask()).text();
    expect(text.slice(text.indexOf('\r\n\r\n') + 4)).toMatch(/^\{\n {2}"error": \{\n {4}"code": 503/);
    await expect(streamed()).rejects.toMatchObject({name: 'ApiError', status: 500});
  });

  test('by a close before the headers', async () => {
    server.reply(answer('a', {fault: {kind: 'cut', after: 'request'}}));
    await expect(ask()).rejects.toThrow('fetch failed');
  });

  test('in a unary answer, which is one chunk', async () => {
    server.reply(answer('a', {fault: {kind: 'cut', after: 0, bytes: 5}}));
    expect(await (await ask({stream: false})).text()).toBe('{\n  "');
  });

  test('by being slow', async () => {
    server.reply(chunks(['a', 'b', 'c'], {headersDelayMs: 40, chunkDelayMs: 40}));
    await (await ask()).text();
    expect((await server.requests[0]?.closed)?.afterMs).toBeGreaterThan(110);
  });
});
