import {expect, test} from 'vitest';

import {ModelError} from '../../lib/errors.ts';
import {Gemini} from '../../lib/gemini/index.ts';
import {ask, geminiAt, rejection, streamed, whole} from './asking.ts';
import {type Answer, body, failure, json, rawServer, stream, text} from './raw-server.ts';

const page = '<html><head><title>Bad Gateway</title><style>p {color: red}</style></head><body><p>Error\n  <b>502</b></p></body></html>';

interface Case {
  readonly what: string;
  readonly answer: Answer;
  readonly error: Record<string, unknown>;
}

const cases: readonly Case[] = [
  {
    what: 'an error body',
    answer: failure(400, 'INVALID_ARGUMENT', 'Request contains an invalid argument.'),
    error: {code: 'INVALID_ARGUMENT', status: 400, message: 'Request contains an invalid argument.', retryable: false},
  },
  {
    what: 'an error body whose message holds braces',
    answer: failure(400, 'INVALID_ARGUMENT', 'Unknown name "a" at {"b": [1]}'),
    error: {code: 'INVALID_ARGUMENT', status: 400, message: 'Unknown name "a" at {"b": [1]}'},
  },
  {
    what: 'an error body in a list',
    answer: body(JSON.stringify([{error: {code: 404, message: 'no such model', status: 'NOT_FOUND'}}]), 'application/json', 404),
    error: {code: 'NOT_FOUND', status: 404, message: 'no such model'},
  },
  {
    what: 'an error body without a status name',
    answer: body(JSON.stringify({error: {code: 401, message: 'who are you?'}}), 'application/json', 401),
    error: {code: 'UNAUTHENTICATED', status: 401, message: 'who are you?'},
  },
  {
    what: 'an HTML page',
    answer: body(page, 'text/html', 502),
    error: {code: 'UNAVAILABLE', retryable: true, status: 502, message: 'The server answered 502 with an HTML page: Bad Gateway Error 502'},
  },
  {
    what: 'plain words',
    answer: body('upstream timed out', 'text/plain', 504),
    error: {code: 'DEADLINE_EXCEEDED', status: 504, message: 'upstream timed out'},
  },
  {
    what: 'an empty body',
    answer: body('', 'text/plain', 503),
    error: {code: 'UNAVAILABLE', status: 503, message: 'The server answered 503 and said nothing', retryable: true},
  },
  {
    what: 'a status that Google does not use',
    answer: body('tea', 'text/plain', 418),
    error: {code: 'HTTP_418', status: 418, message: 'tea', retryable: false},
  },
  {
    what: 'a fractional RetryInfo',
    answer: failure(429, 'RESOURCE_EXHAUSTED', 'later', [
      {'@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '48.939935699s'},
    ]),
    error: {code: 'RESOURCE_EXHAUSTED', status: 429, message: 'later', retryDelayMs: 48_940, retryable: true},
  },
];

test.each(cases)("$what becomes a ModelError with the server's own words, streamed or not", async ({answer, error}) => {
  await using server = await rawServer(answer);
  const model = geminiAt(server, {attempts: 1});
  for (const ask of [streamed, whole]) {
    const thrown = await rejection(ask(model));
    expect(thrown).toBeInstanceOf(ModelError);
    expect(thrown).toMatchObject(error);
    expect((thrown as Error).cause).toBeInstanceOf(Error);
  }
});

test('an error event in a stream becomes a ModelError', async () => {
  const quota = {code: 429, message: 'slow down', status: 'RESOURCE_EXHAUSTED', details: [{retryDelay: '1.5s'}]};
  await using server = await rawServer(stream(text('one'), {error: quota}));
  expect(await rejection(streamed(geminiAt(server)))).toMatchObject({
    code: 'RESOURCE_EXHAUSTED',
    status: 429,
    message: 'slow down',
    retryDelayMs: 1_500,
  });
});

test.each([
  {
    what: 'an error event that the SDK takes for an empty chunk',
    answer: stream(text('one'), {error: {code: 13, message: 'm'}}),
    code: 'STREAM_INCOMPLETE',
    retryable: true,
  },
  {what: 'a stream without a finish reason', answer: stream(text('one')), code: 'STREAM_INCOMPLETE', retryable: true},
  {what: 'an empty stream', answer: stream(), code: 'STREAM_INCOMPLETE', retryable: true},
  {what: 'a page instead of a stream', answer: body(page, 'text/html'), code: 'PROTOCOL_ERROR', retryable: true},
  {what: 'a cut event', answer: body('data: {"cand', 'text/event-stream'), code: 'PROTOCOL_ERROR', retryable: true},
  {what: 'an event that is no JSON', answer: body('data: [DONE]\n\n', 'text/event-stream'), code: 'PROTOCOL_ERROR', retryable: false},
])('$what is $code, retryable: $retryable', async ({answer, code, retryable}) => {
  await using server = await rawServer(answer);
  expect(await rejection(streamed(geminiAt(server, {attempts: 1})))).toMatchObject({code, status: undefined, retryable});
});

test.each([
  {what: 'an empty object', answer: json({}), code: 'EMPTY_RESPONSE', requests: 3},
  {what: 'no candidates', answer: json({candidates: [], usageMetadata: {promptTokenCount: 1}}), code: 'EMPTY_RESPONSE', requests: 3},
  {what: 'a page', answer: body(page, 'text/html'), code: 'PROTOCOL_ERROR', requests: 1},
  {what: 'nothing at all', answer: body('', 'application/json'), code: 'PROTOCOL_ERROR', requests: 1},
  {what: 'a cut JSON', answer: body('{"candidates": [{"cont', 'application/json'), code: 'PROTOCOL_ERROR', requests: 1},
])('a 200 with $what is $code where nothing is streamed', async ({answer, code, requests}) => {
  await using server = await rawServer(answer);
  expect(await rejection(whole(geminiAt(server)))).toMatchObject({code, status: undefined});
  expect(server.requests).toHaveLength(requests);
});

test('a missing key is found at the first call, which says what it looked for; the next call looks again', async () => {
  await using server = await rawServer(stream(text('one', 'STOP')));
  const model = new Gemini({model: 'gemini-test', httpOptions: {baseUrl: server.url}});
  const error = await rejection(streamed(model));
  expect(error).toBeInstanceOf(ModelError);
  expect(error).toMatchObject({code: 'MISSING_API_KEY', retryable: false});
  for (const name of ['apiKey', 'GOOGLE_API_KEY', 'GEMINI_API_KEY', 'GOOGLE_GENAI_USE_VERTEXAI'])
    expect((error as Error).message).toContain(name);
  expect(server.requests).toHaveLength(0);

  process.env['GEMINI_API_KEY'] = 'LATER';
  try {
    expect(await streamed(model)).toHaveLength(2);
  } finally {
    process.env['GEMINI_API_KEY'] = '';
  }
});

test('a missing login for Vertex AI says what it looked for', async () => {
  const error = await rejection(streamed(new Gemini({model: 'gemini-test', vertexai: true})));
  expect(error).toMatchObject({code: 'MISSING_API_KEY'});
  for (const name of ['project', 'GOOGLE_CLOUD_PROJECT', 'GEMINI_API_KEY']) expect((error as Error).message).toContain(name);
});

test('a login that fails is an error with its own words', async () => {
  const authClient = {getRequestHeaders: () => Promise.reject(new Error('no credentials here'))} as never;
  const model = new Gemini({model: 'gemini-test', project: 'p', googleAuthOptions: {authClient}});
  expect(await rejection(streamed(model, ask()))).toMatchObject({code: 'REQUEST_FAILED', message: 'no credentials here', retryable: false});
});

test('a request that the SDK refuses is an error with its own words', async () => {
  await using server = await rawServer(stream(text('one', 'STOP')));
  const error = await rejection(streamed(geminiAt(server), ask(undefined, {audioTimestamp: true})));
  expect(error).toMatchObject({code: 'REQUEST_FAILED'});
  expect((error as Error).message).toContain('audioTimestamp');
  expect(server.requests).toHaveLength(0);
});
