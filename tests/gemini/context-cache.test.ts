import {getEventListeners} from 'node:events';
import {afterEach, describe, expect, test, vi} from 'vitest';

import {LlmAgent, InMemoryRunner} from 'sluice';
import type {Content, GenerateContentConfig} from '../../lib/content.ts';
import {Gemini, type GeminiOptions} from '../../lib/gemini/index.ts';
import {ask, geminiAt, rejection, streamed, whole} from './asking.ts';
import {failure, json, rawServer, silence, stream, type Answer, type RawServer} from './raw-server.ts';

afterEach(() => vi.useRealTimers());

const said = (role: 'user' | 'model', text: string): Content => ({role, parts: [{text}]});
const [q1, a1, q2, a2, q3] = [said('user', 'q1'), said('model', 'a1'), said('user', 'q2'), said('model', 'a2'), said('user', 'q3')];

const config: GenerateContentConfig = {
  systemInstruction: 'Be brief.',
  temperature: 0,
  tools: [{functionDeclarations: [{name: 'f', description: 'd', parametersJsonSchema: {type: 'object', properties: {}}}]}],
  toolConfig: {functionCallingConfig: {mode: 'AUTO' as never}},
};

interface Backend {
  /** How many tokens a request has. */
  readonly tokens?: number;
  readonly create?: Answer;
  /** Asked with the cache that a request names. */
  readonly cached?: Answer;
  readonly remove?: Answer;
}

/** A server with caches: each request in one line, and as JSON what it asks. */
async function backend({tokens = 5_000, create, cached, remove = json({})}: Backend = {}): Promise<RawServer> {
  let made = 0;
  return rawServer((response, request) => {
    const {method, path, body} = request;
    const generated = {
      candidates: [{content: {role: 'model', parts: [{text: 'ok'}]}, finishReason: 'STOP', index: 0}],
      usageMetadata: {promptTokenCount: tokens},
    };
    const isStream = path.includes('alt=sse');
    let answer = isStream ? stream(generated) : json(generated);
    if (method === 'DELETE') answer = remove;
    else if (path.endsWith('/cachedContents')) {
      made++;
      const name = path.includes('projects') ? `projects/1/locations/l/cachedContents/${made}` : `cachedContents/${made}`;
      answer = create ?? json({name, model: 'models/gemini-test'});
    } else if (cached && body.includes('cachedContent')) answer = cached;
    return answer(response, request);
  });
}

/** The requests, each in one line: what is asked of which path, and the texts that are sent. */
const traffic = ({requests}: RawServer): string[] =>
  requests.map(({method, path, body}) => {
    const {contents, cachedContent} = JSON.parse(body || '{}') as {contents?: Content[]; cachedContent?: string};
    const texts = (contents ?? []).map(({parts}) => parts?.[0]?.text);
    return [
      method,
      path.replace(/^\/v1beta1?\//, '').replace('models/gemini-test:', ''),
      ...(cachedContent ? [cachedContent] : []),
      ...texts,
    ].join(' ');
  });

const caching = (server: RawServer, contextCache: GeminiOptions['contextCache'] = {}): Gemini => geminiAt(server, {contextCache});

describe('contextCache', () => {
  test('keeps instruction, tools and what was sent before, and sends the rest: the bytes on the wire', async () => {
    await using server = await backend();
    const model = caching(server);
    await whole(model, ask([q1], config));
    await whole(model, ask([q1, a1, q2], config));
    expect(server.requests.map(({method, path, body}) => `${method} ${path} ${body}`)).toEqual([
      'POST /v1beta/models/gemini-test:generateContent {"contents":[{"parts":[{"text":"q1"}],"role":"user"}],"systemInstruction":{"parts":[{"text":"Be brief."}],"role":"user"},"tools":[{"functionDeclarations":[{"name":"f","description":"d","parametersJsonSchema":{"type":"object","properties":{}}}]}],"toolConfig":{"functionCallingConfig":{"mode":"AUTO"}},"generationConfig":{"temperature":0}}',
      'POST /v1beta/cachedContents {"model":"models/gemini-test","ttl":"1800s","contents":[{"parts":[{"text":"q1"}],"role":"user"}],"systemInstruction":{"parts":[{"text":"Be brief."}],"role":"user"},"tools":[{"functionDeclarations":[{"name":"f","description":"d","parametersJsonSchema":{"type":"object","properties":{}}}]}],"toolConfig":{"functionCallingConfig":{"mode":"AUTO"}}}',
      'POST /v1beta/models/gemini-test:generateContent {"contents":[{"parts":[{"text":"a1"}],"role":"model"},{"parts":[{"text":"q2"}],"role":"user"}],"cachedContent":"cachedContents/1","generationConfig":{"temperature":0}}',
    ]);
  });

  test('serves so many requests, then makes a longer one and deletes it', async () => {
    await using server = await backend();
    const model = caching(server, {cacheIntervals: 2, ttlSeconds: 60});
    const contents = [q1, a1, q2, a2, q3, said('model', 'a3'), said('user', 'q4')];
    for (const length of [1, 3, 5, 7]) await streamed(model, ask(contents.slice(0, length)));
    expect(traffic(server)).toEqual([
      'POST streamGenerateContent?alt=sse q1',
      'POST cachedContents q1',
      'POST streamGenerateContent?alt=sse cachedContents/1 a1 q2',
      'POST streamGenerateContent?alt=sse cachedContents/1 a1 q2 a2 q3',
      'POST cachedContents q1 a1 q2 a2 q3',
      'DELETE cachedContents/1',
      'POST streamGenerateContent?alt=sse cachedContents/2 a3 q4',
    ]);
  });

  test.each<[string, Content[], GenerateContentConfig]>([
    ['other contents', [said('user', 'other'), a1, q2], {}],
    ['another instruction', [q1, a1, q2], {...config, systemInstruction: 'Be kind.'}],
    ['other tools', [q1, a1, q2], {...config, tools: []}],
  ])('is not used for %s', async (_, contents, other) => {
    await using server = await backend();
    const model = caching(server);
    await whole(model, ask([q1], contents[0] === q1 ? config : {}));
    await whole(model, ask(contents, other));
    expect(traffic(server).filter((line) => line.includes('cachedContents'))).toEqual([]);
  });

  test('stays out of requests that name a cache of their own', async () => {
    await using server = await backend();
    const model = caching(server);
    const own = {cachedContent: 'cachedContents/mine'};
    for (const contents of [[q1], [q1, a1, q2]]) await whole(model, ask(contents, own));
    expect(traffic(server)).toEqual(['POST generateContent cachedContents/mine q1', 'POST generateContent cachedContents/mine q1 a1 q2']);
  });

  test('waits until there are enough tokens', async () => {
    await using server = await backend({tokens: 4_095});
    const model = caching(server);
    for (const contents of [[q1], [q1, a1, q2], [q1, a1, q2, a2, q3]]) await whole(model, ask(contents));
    expect(traffic(server)).toEqual(['POST generateContent q1', 'POST generateContent q1 a1 q2', 'POST generateContent q1 a1 q2 a2 q3']);
  });

  test('makes a new one when its time is up', async () => {
    vi.useFakeTimers({toFake: ['Date'], now: 0});
    await using server = await backend();
    const model = caching(server, {ttlSeconds: 100});
    await whole(model, ask([q1]));
    await whole(model, ask([q1, a1, q2]));
    vi.setSystemTime(95_000);
    await whole(model, ask([q1, a1, q2, a2, q3]));
    expect(traffic(server).slice(3)).toEqual(['POST cachedContents q1 a1 q2', 'POST generateContent cachedContents/2 a2 q3']);
  });

  test('on Vertex AI has its place in the project', async () => {
    await using server = await backend();
    const googleAuthOptions = {authClient: {getRequestHeaders: async () => new Headers({authorization: 'Bearer T'})} as never};
    const httpOptions = {baseUrl: server.url};
    const model = new Gemini({model: 'gemini-test', project: 'p', location: 'l', googleAuthOptions, httpOptions, contextCache: {}});
    await whole(model, ask([q1], config));
    await whole(model, ask([q1, a1, q2], config));
    await model.deleteContextCaches();
    expect(server.requests.map(({method, path, body}) => `${method} ${path} ${body}`).slice(1)).toEqual([
      'POST /v1beta1/projects/p/locations/l/cachedContents {"model":"projects/p/locations/l/publishers/google/models/gemini-test","ttl":"1800s","contents":[{"parts":[{"text":"q1"}],"role":"user"}],"systemInstruction":{"parts":[{"text":"Be brief."}],"role":"user"},"tools":[{"functionDeclarations":[{"name":"f","description":"d","parametersJsonSchema":{"type":"object","properties":{}}}]}],"toolConfig":{"functionCallingConfig":{"mode":"AUTO"}}}',
      'POST /v1beta1/projects/p/locations/l/publishers/google/models/gemini-test:generateContent {"contents":[{"parts":[{"text":"a1"}],"role":"model"},{"parts":[{"text":"q2"}],"role":"user"}],"cachedContent":"projects/1/locations/l/cachedContents/1","generationConfig":{"temperature":0}}',
      'DELETE /v1beta1/projects/1/locations/l/cachedContents/1 {}',
    ]);
    expect(server.requests[1]?.headers).toMatchObject({authorization: 'Bearer T'});
  });

  test('goes with the turns of an agent', async () => {
    await using server = await backend();
    const model = caching(server, {minTokens: 100, cacheIntervals: 1});
    const agent = new LlmAgent({name: 'root', model, instruction: 'Turn {turn}.', staticInstruction: 'Be brief.'});
    const runner = new InMemoryRunner({agent, appName: 'app', autoCreateSession: true});
    for (const text of ['q1', 'q2', 'q3']) {
      const run = runner.runAsync({userId: 'u', sessionId: 's', newMessage: {role: 'user', parts: [{text}]}, stateDelta: {turn: text}});
      for await (const _ of run);
    }
    // What a turn alone says is never part of it.
    expect(traffic(server)).toEqual([
      'POST generateContent Turn q1. q1',
      'POST cachedContents',
      'POST generateContent cachedContents/1 q1 ok Turn q2. q2',
      'POST cachedContents q1 ok',
      'POST generateContent cachedContents/2 q2 ok Turn q3. q3',
    ]);
  });

  test('of instruction and tools alone serves other conversations too, and is not deleted for one', async () => {
    await using server = await backend();
    const model = caching(server, {cacheIntervals: 1, minTokens: 1_000});
    await whole(model, ask([q1], config));
    await whole(model, ask([said('user', 'other')], config));
    await whole(model, ask([q1, a1, q2], config));
    expect(traffic(server)).toEqual([
      'POST generateContent q1',
      'POST cachedContents',
      'POST generateContent cachedContents/1 other',
      'POST cachedContents q1',
      'POST generateContent cachedContents/2 a1 q2',
    ]);
    expect(JSON.parse(server.requests[1]?.body ?? '')).not.toHaveProperty('contents');
  });

  test('is made once for requests beside each other', async () => {
    await using server = await backend();
    const model = caching(server);
    await whole(model, ask([q1]));
    await Promise.all([whole(model, ask([q1, a1, q2])), whole(model, ask([q1, a1, q3]))]);
    expect(traffic(server).filter((line) => line.startsWith('POST cachedContents'))).toEqual(['POST cachedContents q1']);
  });

  test('does not part a call from its response', async () => {
    await using server = await backend();
    const model = caching(server, {minTokens: 100});
    const call: Content = {role: 'model', parts: [{functionCall: {name: 'f', args: {}}}]};
    const answer = (state: string): Content => ({role: 'user', parts: [{functionResponse: {name: 'f', response: {state}}}]});
    await whole(model, ask([q1, call, answer('pending')]));
    await whole(model, ask([q1, call, answer('done')]));
    expect(JSON.parse(server.requests[1]?.body ?? '')).toMatchObject({contents: [q1]});
  });
});

describe('without a cache a request goes out', () => {
  test.each<[string, Answer]>([
    ['refused', failure(400, 'INVALID_ARGUMENT', 'Cached content is too small.')],
    ['not found', failure(404, 'NOT_FOUND')],
    ['failing', failure(503, 'UNAVAILABLE')],
    ['unreadable', (response) => void response.writeHead(200, {'content-type': 'application/json'}).end('<html>')],
    ['without a name', json({})],
  ])('where one that is made is %s, and none is made for a while', async (_, create) => {
    await using server = await backend({create});
    const model = caching(server);
    for (const contents of [[q1], [q1, a1, q2]]) expect(await whole(model, ask(contents))).toMatchObject({finishReason: 'STOP'});
    expect(traffic(server)).toEqual(['POST generateContent q1', 'POST cachedContents q1', 'POST generateContent q1 a1 q2']);
    await whole(model, ask([q1, a1, q2, a2, q3]));
    expect(traffic(server).slice(3)).toEqual(['POST generateContent q1 a1 q2 a2 q3']);
  });

  test.each([
    [403, 'PERMISSION_DENIED'],
    [404, 'NOT_FOUND'],
    [400, 'INVALID_ARGUMENT'],
  ])('where the server does not take it any more (%i), streamed and not', async (status, rpcStatus) => {
    await using server = await backend({cached: failure(status, rpcStatus, 'CachedContent not found')});
    const model = caching(server);
    await whole(model, ask([q1]));
    expect(await streamed(model, ask([q1, a1, q2]))).toHaveLength(2);
    expect(await whole(model, ask([q1, a1, q2, a2, q3]))).toMatchObject({finishReason: 'STOP'});
    expect(traffic(server)).toEqual([
      'POST generateContent q1',
      'POST cachedContents q1',
      'POST streamGenerateContent?alt=sse cachedContents/1 a1 q2',
      'POST streamGenerateContent?alt=sse q1 a1 q2',
      'POST cachedContents q1 a1 q2',
      'POST generateContent cachedContents/2 a2 q3',
      'POST generateContent q1 a1 q2 a2 q3',
    ]);
  });

  test('but a failure of the request itself is its failure, and is tried again with the cache', async () => {
    let failures = 0;
    const once: Answer = (response, request) =>
      failures++ === 0 ? failure(503, 'UNAVAILABLE')(response, request) : json({candidates: [{finishReason: 'STOP'}]})(response, request);
    await using server = await backend({cached: once});
    const model = caching(server);
    await whole(model, ask([q1]));
    expect(await whole(model, ask([q1, a1, q2]))).toMatchObject({finishReason: 'STOP'});
    expect(traffic(server).slice(2)).toEqual([
      'POST generateContent cachedContents/1 a1 q2',
      'POST generateContent cachedContents/1 a1 q2',
    ]);
  });

  test('and where an old one cannot be deleted nobody minds', async () => {
    await using server = await backend({remove: failure(500, 'INTERNAL')});
    const model = caching(server, {cacheIntervals: 1});
    for (const contents of [[q1], [q1, a1, q2], [q1, a1, q2, a2, q3]]) await whole(model, ask(contents));
    expect(traffic(server).at(-1)).toBe('POST generateContent cachedContents/2 a2 q3');
  });

  test('an old one goes on where no new one can be made', async () => {
    let made = 0;
    const create: Answer = (response, request) =>
      (made++ === 0 ? json({name: 'cachedContents/1'}) : failure(429, 'RESOURCE_EXHAUSTED'))(response, request);
    await using server = await backend({create});
    const model = caching(server, {cacheIntervals: 1});
    for (const contents of [[q1], [q1, a1, q2], [q1, a1, q2, a2, q3]]) await whole(model, ask(contents));
    expect(traffic(server).slice(3)).toEqual(['POST cachedContents q1 a1 q2', 'POST generateContent cachedContents/1 a1 q2 a2 q3']);
  });
});

describe('an abort', () => {
  test('while a cache is made closes its socket, and nothing is sent any more', async () => {
    await using server = await backend({create: silence});
    const model = caching(server);
    await whole(model, ask([q1]));
    const stop = new AbortController();
    const asking = rejection(streamed(model, ask([q1, a1, q2]), stop.signal));
    const create = await server.request(1);
    const reason = new Error('enough');
    stop.abort(reason);
    expect(await asking).toBe(reason);
    expect(await create.closed).toBe('closed early');
    expect(traffic(server)).toHaveLength(2);
    expect(getEventListeners(stop.signal, 'abort')).toEqual([]);
    // It was no refusal: the next request makes one.
    const next = whole(model, ask([q1, a1, q2]));
    expect((await server.request(2)).path).toBe('/v1beta/cachedContents');
    server.requests[2]?.socket.destroy();
    expect(await next).toMatchObject({finishReason: 'STOP'});
  });

  test('while an old one is deleted closes its socket', async () => {
    await using server = await backend({remove: silence});
    const model = caching(server, {cacheIntervals: 1});
    for (const contents of [[q1], [q1, a1, q2]]) await whole(model, ask(contents));
    const stop = new AbortController();
    const asking = rejection(whole(model, ask([q1, a1, q2, a2, q3]), stop.signal));
    const remove = await server.request(4);
    stop.abort(new Error('enough'));
    expect(await asking).toBe(stop.signal.reason);
    expect(await remove.closed).toBe('closed early');
    expect(traffic(server).at(-1)).toBe('DELETE cachedContents/1');
    expect(getEventListeners(stop.signal, 'abort')).toEqual([]);
  });
});

describe('deleteContextCaches', () => {
  test('deletes what is left, once', async () => {
    await using server = await backend();
    const model = caching(server);
    await model.deleteContextCaches();
    for (const contents of [[q1], [q1, a1, q2]]) await whole(model, ask(contents));
    await model.deleteContextCaches();
    await model.deleteContextCaches();
    expect(traffic(server).slice(3)).toEqual(['DELETE cachedContents/1']);
  });

  test('is ended by its signal', async () => {
    await using server = await backend({remove: silence});
    const model = caching(server);
    for (const contents of [[q1], [q1, a1, q2]]) await whole(model, ask(contents));
    const stop = new AbortController();
    const deleting = rejection(model.deleteContextCaches({abortSignal: stop.signal}));
    const remove = await server.request(3);
    stop.abort(new Error('enough'));
    expect(await deleting).toBe(stop.signal.reason);
    expect(await remove.closed).toBe('closed early');
    expect(getEventListeners(stop.signal, 'abort')).toEqual([]);
  });
});

test.each<[string, unknown, string]>([
  ['no object', 'on', 'Expected `contextCache` to be an object'],
  ['no time', {ttlSeconds: 0}, 'Expected `contextCache.ttlSeconds` to be a whole number of at least 1, got 0'],
  ['no size', {minTokens: -1}, 'Expected `contextCache.minTokens` to be a whole number of at least 0, got -1'],
  ['no interval', {cacheIntervals: 0.5}, 'Expected `contextCache.cacheIntervals` to be a whole number of at least 1, got 0.5'],
  ['another option', {ttl: 5}, 'did you mean `ttlSeconds`?'],
])('contextCache cannot be made with %s', (_, contextCache, message) => {
  expect(() => new Gemini({model: 'm', contextCache: contextCache as never})).toThrow(message);
});
