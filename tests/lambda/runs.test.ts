import {getEventListeners} from 'node:events';
import {InMemorySessionService, LlmAgent, Runner, stringifyContent, type Event, type LlmResponse} from 'sluice';
import {deltas, ScriptedLlm, type ScriptedStep} from 'sluice/testing';
import {afterEach, beforeEach, describe, expect, test, vi} from 'vitest';
import {bufferedHandler, LambdaDeadlineError, streamHandler, type FetchHandler} from '../../lib/lambda/index.ts';
import {createHandler} from '../../lib/serve/index.ts';
import {functionUrl} from './event-shapes.ts';
import {awslambda, contextOf, ResponseStream} from './fake-lambda.ts';

beforeEach(() => void vi.stubGlobal('awslambda', awslambda));
afterEach(() => vi.unstubAllGlobals());

describe('a run', () => {
  const sessionService = new InMemorySessionService();
  let signals: AbortSignal[];

  /** Says "one", and nothing more. */
  async function* stalled(): AsyncGenerator<LlmResponse, void> {
    yield {content: {role: 'model', parts: [{text: 'one'}]}, partial: true};
    await new Promise(() => {});
  }

  function serve(...steps: readonly ScriptedStep[]): FetchHandler {
    const model = new ScriptedLlm({steps});
    const runner = new Runner({agent: new LlmAgent({name: 'root', model}), appName: 'app', sessionService, autoCreateSession: true});
    const handler = createHandler({runner});
    return (request, host) => {
      signals.push(request.signal);
      return handler(request, host);
    };
  }

  beforeEach(() => void (signals = []));

  const eventFor = (sessionId: string, path: string): object => ({
    ...functionUrl,
    rawPath: path,
    rawQueryString: '',
    body: JSON.stringify({appName: 'app', userId: 'u', sessionId, newMessage: {role: 'user', parts: [{text: 'Go.'}]}, streaming: true}),
    isBase64Encoded: false,
    headers: {...functionUrl.headers, accept: 'application/x-ndjson'},
  });
  const stored = async (sessionId: string): Promise<unknown[]> => {
    const session = await sessionService.getSession({appName: 'app', userId: 'u', sessionId});
    return (session?.events ?? []).map((event) => [event.author, stringifyContent(event), event.customMetadata?.['stopped']]);
  };
  const eventsIn = (text: string): Event[] =>
    text
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line) as Event);

  test('is streamed to its end', async () => {
    const output = new ResponseStream();
    await streamHandler(serve(deltas('one', ' two')))(eventFor('whole', '/run_sse'), output, contextOf());
    expect(output.metadata).toMatchObject({statusCode: 200, headers: {'content-type': expect.stringContaining('ndjson')}});
    expect(eventsIn(output.body).map(stringifyContent)).toEqual(['one', ' two', 'one two']);
    expect(signals.flatMap((signal) => getEventListeners(signal, 'abort'))).toEqual([]);
  });

  test('that takes too long is stopped in time and its session stored; the invocation fails, and the stream does not end as if whole', async () => {
    const output = new ResponseStream();
    const handler = streamHandler(serve(stalled()), {stopBeforeMs: 500});
    const failure = await handler(eventFor('late', '/run_sse'), output, contextOf(2_500)).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(LambdaDeadlineError);
    expect(failure).toMatchObject({code: 'LAMBDA_DEADLINE'});
    expect(eventsIn(output.body).map(stringifyContent)).toEqual(['one']);
    expect(output.writableEnded).toBe(false);
    expect(await stored('late')).toEqual([
      ['user', 'Go.', undefined],
      ['root', 'one', true],
    ]);
  });

  test('that takes too long is stopped in time and answered with 504, where the answer is awaited as a whole', async () => {
    const handler = bufferedHandler(serve(stalled()), {stopBeforeMs: 500});
    const result = await handler(eventFor('late whole', '/run'), contextOf(2_500));
    expect(result).toMatchObject({statusCode: 504, headers: {'content-type': 'application/problem+json'}});
    expect(JSON.parse(result.body)).toMatchObject({code: 'LAMBDA_DEADLINE'});
    expect((await stored('late whole')).slice(0, 1)).toEqual([['user', 'Go.', undefined]]);
  });

  test('whose time is up already is stopped before it asks a model', async () => {
    const output = new ResponseStream();
    const handler = streamHandler(serve(stalled()), {stopBeforeMs: 2_000});
    await expect(handler(eventFor('no time', '/run_sse'), output, contextOf(1_000))).rejects.toThrow(LambdaDeadlineError);
  });

  test('whose output is closed early ends, stored, and is no failure', async () => {
    const output = new ResponseStream();
    const done = streamHandler(serve(stalled()))(eventFor('left', '/run_sse'), output, contextOf());
    await output.until(/one/);
    output.destroy();
    await done;
    expect(signals[0]?.reason).toMatchObject({name: 'AbortError', message: 'The client has left'});
    expect(await stored('left')).toEqual([
      ['user', 'Go.', undefined],
      ['root', 'one', true],
    ]);
  });
});

test('an invocation ends when all is over that the handler asked its host to wait for, failures too', async () => {
  const log: string[] = [];
  const [first, second] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const handler = bufferedHandler((_request, host) => {
    host?.waitUntil?.(first.promise.then(() => host.waitUntil?.(second.promise)));
    host?.waitUntil?.(Promise.reject(new Error('of no interest')));
    return new Response('answer');
  });
  const done = handler(functionUrl, contextOf()).then(() => log.push('ended'));
  first.resolve();
  await first.promise;
  log.push('first');
  await new Promise((resolve) => setImmediate(resolve));
  log.push('second');
  second.resolve();
  await done;
  expect(log).toEqual(['first', 'second', 'ended']);
});
