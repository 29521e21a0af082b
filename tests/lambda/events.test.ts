import {afterEach, beforeEach, describe, expect, test, vi} from 'vitest';
import {bufferedHandler, streamHandler, type FetchHandler} from '../../lib/lambda/index.ts';
import {functionUrl, loadBalancer, loadBalancerMany, restApi} from './event-shapes.ts';
import {awslambda, contextOf, ResponseStream} from './fake-lambda.ts';

beforeEach(() => void vi.stubGlobal('awslambda', awslambda));
afterEach(() => vi.unstubAllGlobals());

/** What a handler is asked. */
const told: FetchHandler = async (request) =>
  Response.json({
    method: request.method,
    url: request.url,
    type: request.headers.get('content-type'),
    twice: request.headers.get('x-twice'),
    cookie: request.headers.get('cookie'),
    body: await request.text(),
  });

const withCookies: FetchHandler = () =>
  new Response('é', {
    status: 201,
    headers: [
      ['x-a', 'b'],
      ['set-cookie', 'a=1'],
      ['set-cookie', 'b=2'],
    ],
  });

describe('an event becomes a request', () => {
  const asked = {method: 'POST', type: 'application/json', cookie: 'a=1; b=2', body: '{"text":"hé"}'};

  test.each([
    ['of a function URL', functionUrl, {url: 'https://abc.lambda-url.eu-west-1.on.aws/run/a%20b?x=1&x=2&y=%C3%A9', twice: 'one,two'}],
    ['of a REST API', restApi, {url: 'https://api.example/run/a%20b?x=1&x=2&y=%C3%A9', twice: 'one, two'}],
    ['of a load balancer', loadBalancer, {url: 'http://lb.example/run/a%20b?x=2&y=%C3%A9', twice: 'one, two'}],
    ['of one with multi-value headers', loadBalancerMany, {url: 'http://lb.example/run/a%20b?x=1&x=2&y=%C3%A9', twice: 'one, two'}],
  ])('%s', async (_name, event, expected) => {
    const result = await bufferedHandler(told)(event, contextOf());
    expect(JSON.parse(result.body)).toEqual({...asked, ...expected});
  });

  test('without a body, a query or headers', async () => {
    const event = {httpMethod: 'GET', path: '/', headers: null, queryStringParameters: null, body: null, requestContext: {}};
    const {body} = await bufferedHandler(told)(event, contextOf());
    expect(JSON.parse(body)).toMatchObject({method: 'GET', url: 'https://localhost/', body: ''});
  });

  test.each([[{Records: [{eventSource: 'aws:sqs'}]}], [undefined], ['text'], [{version: '2.0'}]])('but %j does not', async (event) => {
    await expect(bufferedHandler(told)(event, contextOf())).rejects.toThrow('Expected `event` to be a request of a function URL');
  });

  test('and a context is needed', async () => {
    await expect(bufferedHandler(told)(functionUrl, {} as never)).rejects.toThrow("Expected `context` to be Lambda's context");
  });
});

describe('a response becomes a result', () => {
  test.each([
    ['of a function URL', functionUrl, {headers: {'content-type': 'text/plain;charset=UTF-8', 'x-a': 'b'}, cookies: ['a=1', 'b=2']}],
    [
      'of a REST API',
      restApi,
      {multiValueHeaders: {'content-type': ['text/plain;charset=UTF-8'], 'x-a': ['b'], 'set-cookie': ['a=1', 'b=2']}},
    ],
    ['of a load balancer', loadBalancer, {headers: {'content-type': 'text/plain;charset=UTF-8', 'x-a': 'b', 'set-cookie': 'b=2'}}],
    [
      'of one with multi-value headers',
      loadBalancerMany,
      {multiValueHeaders: {'content-type': ['text/plain;charset=UTF-8'], 'x-a': ['b'], 'set-cookie': ['a=1', 'b=2']}},
    ],
  ])('%s', async (_name, event, expected) => {
    const result = await bufferedHandler(withCookies)(event, contextOf());
    expect(result).toEqual({statusCode: 201, body: 'é', isBase64Encoded: false, ...expected});
  });

  test('in base64 where its bytes are no text', async () => {
    const bytes = Uint8Array.of(0xff, 0x00, 0xfe);
    const result = await bufferedHandler(() => new Response(bytes))(functionUrl, contextOf());
    expect(result).toMatchObject({body: Buffer.from(bytes).toString('base64'), isBase64Encoded: true});
  });
});

describe('a streamed response', () => {
  test('begins with its metadata, and is written at the pace of the output', async () => {
    let pulls = 0;
    const body = new ReadableStream<Uint8Array<ArrayBuffer>>(
      {
        pull(controller) {
          pulls += 1;
          if (pulls > 3) controller.close();
          else controller.enqueue(Buffer.from(String(pulls)));
        },
      },
      {highWaterMark: 0},
    );
    const answer = streamHandler(
      async (request, host) => new Response(body, {status: 201, headers: (await withCookies(request, host)).headers}),
    );
    expect('streamed' in answer).toBe(true);
    const output = new ResponseStream();
    const taken = Promise.withResolvers<void>();
    output.blocked = taken.promise;
    const done = answer(functionUrl, output, contextOf());
    await vi.waitFor(() => expect(output.text).not.toBe(''));
    expect(pulls).toBeLessThanOrEqual(1);
    taken.resolve();
    await done;
    expect(output.metadata).toEqual({
      statusCode: 201,
      headers: {'content-type': 'text/plain;charset=UTF-8', 'x-a': 'b'},
      cookies: ['a=1', 'b=2'],
    });
    expect([output.body, output.writableFinished]).toEqual(['123', true]);
  });

  test('without a body has its status all the same', async () => {
    const output = new ResponseStream();
    await streamHandler(() => new Response(null, {status: 302, headers: {location: '/'}}))(functionUrl, output, contextOf());
    expect(output.metadata).toEqual({statusCode: 302, headers: {location: '/'}});
    expect([output.body, output.writableFinished]).toEqual(['', true]);
  });

  test('whose body fails fails the invocation', async () => {
    const body = new ReadableStream({pull: () => Promise.reject(new Error('broken'))});
    const output = new ResponseStream();
    await expect(streamHandler(() => new Response(body))(functionUrl, output, contextOf())).rejects.toThrow('broken');
    expect(output.writableEnded).toBe(false);
  });

  test('needs the global of Lambda', () => {
    vi.unstubAllGlobals();
    expect(() => streamHandler(told)).toThrow(
      "Expected `awslambda` to be the global of Lambda's Node runtime, where streamHandler is called, got undefined",
    );
  });
});

describe('bad options', () => {
  test.each([
    [() => streamHandler(undefined as never), 'Expected `handler` to be a function, got undefined'],
    [() => bufferedHandler({} as never), 'Expected `handler` to be a function, got an object (Object)'],
    [() => bufferedHandler(told, {stopBeforeMs: -1}), 'Expected `bufferedHandler.stopBeforeMs` to be a number of milliseconds from 0'],
    [() => streamHandler(told, {stopBefore: 5} as object), 'did you mean `stopBeforeMs`'],
  ])('%#', (make, message) => {
    expect(make).toThrow(message);
  });
});
