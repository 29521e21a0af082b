import {getEventListeners} from 'node:events';
import {getFunctionCalls, getFunctionResponses, stringifyContent, type Event, type RunOutcome, type Session} from 'sluice';
import {answer, calls, chunks, GeminiServer, ToolService} from 'sluice/testing';
import {afterEach, beforeEach, describe, expect, test, vi} from 'vitest';
import {handler} from '../../examples/serverless.ts';
import {startExample, type Program} from './program.ts';

const askWeather = calls([{name: 'get_weather', args: {city: 'Paris'}}]);

describe('serverless on node:http', () => {
  let gemini: GeminiServer;
  let tools: ToolService;
  let program: Program;
  let url: string;

  async function start(toolDelayMs: number): Promise<void> {
    gemini = await GeminiServer.start();
    tools = await ToolService.start({delayMs: toolDelayMs});
    const env = {PORT: '0', GEMINI_API_KEY: 'test', GOOGLE_GEMINI_BASE_URL: gemini.url, WEATHER_URL: tools.url};
    program = startExample('serverless', [], env);
    url = (await program.until(/Serving on (\S+)\n/))[1] ?? '';
  }

  afterEach(async () => {
    await program[Symbol.asyncDispose]();
    await Promise.all([gemini.close(), tools.close()]);
    const {stderr} = await program.ended;
    if (stderr !== '') throw new Error(`The server complained: ${stderr}`);
  });

  const ask = (message: string, signal?: AbortSignal): Promise<Response> =>
    fetch(url, {method: 'POST', body: JSON.stringify({sessionId: 's1', message}), ...(signal && {signal})});
  const session = async (): Promise<Session> => (await (await fetch(`${url}?sessionId=s1`)).json()) as Session;

  test('streams the Events of a run, and keeps the session', async () => {
    await start(0);
    gemini.reply(askWeather, chunks(['It is ', 'fine.']));
    const events = await readAll(await ask('Weather?'));
    const whole = events.filter(({partial}) => !partial);
    expect(whole.map(({content}) => content?.parts)).toMatchObject([
      [{functionCall: {name: 'get_weather', args: {city: 'Paris'}}}],
      [{functionResponse: {name: 'get_weather', response: {result: expect.stringContaining('/Paris')}}}],
      [{text: 'It is fine.'}],
    ]);
    expect(events.filter(({partial}) => partial).map(stringifyContent)).toEqual(['', 'It is ', 'fine.']);
    expect((await session()).events.slice(1)).toEqual(whole);
  });

  test('closes the socket to the model when its client leaves, and the next request finds what was said', async () => {
    await start(0);
    gemini.reply(chunks(['It is ', 'fine.'], {fault: {kind: 'stall', after: 1}}), answer('As I said.'));
    const client = new AbortController();
    const lines = readLines(await ask('Weather?', client.signal));
    expect(stringifyContent((await lines.next()).value as Event)).toBe('It is ');
    client.abort();
    expect((await gemini.requests[0]?.closed)?.early).toBe(true);

    // It waits for its turn: the run before holds the session until all of it is stored.
    const events = await readAll(await ask('Go on.'));
    expect(stringifyContent(events.at(-1) as Event)).toBe('As I said.');
    expect(gemini.requests[1]?.body.contents?.map(({parts}) => parts?.[0]?.text)).toEqual(['Weather?', 'It is ', 'Go on.']);
    const stopped = (await session()).events.map(({customMetadata}) => customMetadata?.['stopped']);
    expect(stopped).toEqual([undefined, true, undefined, undefined]);
  });

  test('closes the sockets of its tools when its client leaves, and every call has its response', async () => {
    await start(60_000);
    gemini.reply(askWeather, answer('Never mind.'));
    const client = new AbortController();
    const reading = ask('Weather?', client.signal).then(readAll);
    const request = await tools.nextRequest();
    client.abort();
    await expect(reading).rejects.toThrow('aborted');
    expect((await request.closed).early).toBe(true);

    expect(stringifyContent((await readAll(await ask('Go on.'))).at(-1) as Event)).toBe('Never mind.');
    expect(gemini.requests.map(({refusal}) => refusal)).toEqual([undefined, undefined]);
    const {events} = await session();
    expect(events.flatMap(getFunctionResponses).map(({id}) => id)).toEqual(events.flatMap(getFunctionCalls).map(({id}) => id));
    expect(events.flatMap(getFunctionResponses).map(({response}) => response)).toEqual([
      {error: 'cancelled; it may have taken effect', started: true},
    ]);
  });

  test('refuses what it cannot read, and knows no session that was never made', async () => {
    await start(0);
    expect((await fetch(url, {method: 'POST', body: '{'})).status).toBe(400);
    expect((await fetch(`${url}?sessionId=none`)).status).toBe(404);
  });

  test('ends the stream with the failure of the model', async () => {
    await start(0);
    const lines = await readAll(await ask('Weather?'));
    expect(lines).toEqual([{error: expect.stringContaining('GeminiServer has no reply for request 0')}]);
  });
});

describe('the serverless handler', () => {
  let gemini: GeminiServer;
  beforeEach(async () => {
    gemini = await GeminiServer.start();
    vi.stubEnv('GEMINI_API_KEY', 'test');
    vi.stubEnv('GOOGLE_GEMINI_BASE_URL', gemini.url);
  });
  afterEach(async () => {
    vi.unstubAllEnvs();
    await gemini.close();
  });

  test('asks no model before the body is read, and ends the run when the body is cancelled', async () => {
    const {response, settled} = await call('cold');
    await response.body?.cancel();
    expect(await settled).toMatchObject({kind: 'return', llmCalls: 0});
    expect(gemini.requests).toEqual([]);
  });

  test('tells its host when the run has settled, and leaves nothing on the signal of the request', async () => {
    gemini.reply(chunks(['It is ', 'fine.'], {fault: {kind: 'stall', after: 1}}));
    const client = new AbortController();
    const {response, settled, request} = await call('abort', client.signal);
    const lines = readLines(response);
    expect(stringifyContent((await lines.next()).value as Event)).toBe('It is ');
    client.abort(new Error('gone'));
    expect(await settled).toMatchObject({kind: 'abort', reason: new Error('gone'), llmCalls: 1});
    expect((await gemini.requests[0]?.closed)?.early).toBe(true);
    expect(getEventListeners(request.signal, 'abort')).toEqual([]);
  });

  test('answers without a key by a script that says so', async () => {
    vi.stubEnv('GEMINI_API_KEY', '');
    const {response, settled} = await call('keyless');
    expect(stringifyContent((await readAll(response)).at(-1) as Event)).toContain('GEMINI_API_KEY is not set');
    expect((await settled)?.kind).toBe('done');
  });
});

async function call(
  sessionId: string,
  signal?: AbortSignal,
): Promise<{request: Request; response: Response; settled: Promise<RunOutcome | undefined>}> {
  const body = JSON.stringify({sessionId, message: 'Weather?'});
  const request = new Request('http://localhost/', {method: 'POST', body, ...(signal && {signal})});
  const kept: Promise<unknown>[] = [];
  const response = await handler(request, {waitUntil: (promise) => kept.push(promise)});
  return {request, response, settled: Promise.resolve(kept[0] as Promise<RunOutcome> | undefined)};
}

async function readAll(response: Response): Promise<Event[]> {
  const events: Event[] = [];
  for await (const event of readLines(response)) events.push(event);
  return events;
}

async function* readLines(response: Response): AsyncGenerator<Event, void> {
  let rest = '';
  for await (const text of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
    const lines = (rest + text).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) yield JSON.parse(line) as Event;
  }
}
