import {createServer} from 'node:http';
import type {AddressInfo} from 'node:net';

import type * as abortControllerX from 'abort-controller-x';
import {beforeEach, expect, test, vi} from 'vitest';

import {ask, geminiAt, rejection, streamed, whole} from './asking.ts';
import {body, event, failure, json, rawServer, reset, stream, text} from './raw-server.ts';

const backOffs: number[] = [];
beforeEach(() => void backOffs.splice(0));

// Back-offs are noted and not waited for.
vi.mock('abort-controller-x', async (original) => {
  const actual = await original<typeof abortControllerX>();
  return {...actual, delay: (signal: AbortSignal, ms: number) => (backOffs.push(ms), actual.delay(signal, 0))};
});

const good = stream(text('good', 'STOP'));
const goodWhole = [
  {content: {role: 'model', parts: [{text: 'good'}]}, partial: true},
  {content: {role: 'model', parts: [{text: 'good'}]}, finishReason: 'STOP'},
];

const retryInfo = (retryDelay: string) => ({'@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay});
const quota = (quotaId: string) => ({'@type': 'type.googleapis.com/google.rpc.QuotaFailure', violations: [{quotaId}]});

test.each([429, 500, 502, 503, 504])('a %d is tried again', async (status) => {
  await using server = await rawServer(failure(status, 'SOME_STATUS'), failure(status, 'SOME_STATUS'), good);
  expect(await streamed(geminiAt(server))).toEqual(goodWhole);
  expect(server.requests).toHaveLength(3);
  expect(new Set(server.requests.map((request) => request.body)).size).toBe(1);
});

test.each([400, 401, 403, 404, 409, 499, 501])('a %d is not tried again', async (status) => {
  await using server = await rawServer(failure(status, 'SOME_STATUS'), good);
  expect(await rejection(streamed(geminiAt(server)))).toMatchObject({code: 'SOME_STATUS', status});
  expect(server.requests).toHaveLength(1);
});

test('a call that is not streamed is tried again too', async () => {
  await using server = await rawServer(failure(503, 'UNAVAILABLE'), json(text('good', 'STOP')));
  expect(await whole(geminiAt(server))).toEqual(goodWhole[1]);
  expect(server.requests).toHaveLength(2);
});

test.each([
  {what: 'a socket reset before the headers', first: reset()},
  {what: 'a stream that ends without a chunk', first: stream()},
  {what: 'a stream cut in the middle of its first event', first: body('data: {"candidates": [{"con', 'text/event-stream')},
  {what: 'an error event as the first of a stream', first: stream({error: {code: 503, status: 'UNAVAILABLE', message: 'm'}})},
  {
    what: 'an error event after chunks without content',
    first: stream({usageMetadata: {promptTokenCount: 1}}, {error: {code: 503, status: 'UNAVAILABLE', message: 'm'}}),
  },
])('$what is tried again', async ({first}) => {
  await using server = await rawServer(first, good);
  expect(await streamed(geminiAt(server))).toEqual(goodWhole);
  expect(server.requests).toHaveLength(2);
});

test.each([
  {what: 'a reset', first: reset(text('one')), code: 'CONNECTION_LOST'},
  {what: 'a cut event', first: body(`${event(text('one'))}data: {"cand`, 'text/event-stream'), code: 'PROTOCOL_ERROR'},
  {what: 'an end without a finish reason', first: stream(text('one')), code: 'STREAM_INCOMPLETE'},
  {what: 'an error event', first: stream(text('one'), {error: {code: 503, status: 'UNAVAILABLE', message: 'm'}}), code: 'UNAVAILABLE'},
])('after something was yielded $what is an error and nothing is sent again', async ({first, code}) => {
  await using server = await rawServer(first, good);
  const responses = geminiAt(server).generateContentAsync(ask(), true);
  expect(await responses.next()).toMatchObject({value: {content: {parts: [{text: 'one'}]}, partial: true}});
  expect(await rejection(responses.next())).toMatchObject({code});
  expect(server.requests).toHaveLength(1);
});

test("the last attempt's failure is thrown", async () => {
  await using server = await rawServer(
    failure(500, 'INTERNAL', 'first'),
    failure(503, 'UNAVAILABLE', 'second'),
    failure(429, 'RESOURCE_EXHAUSTED', 'third'),
  );
  expect(await rejection(streamed(geminiAt(server)))).toMatchObject({code: 'RESOURCE_EXHAUSTED', status: 429, message: 'third'});
  expect(server.requests).toHaveLength(3);
});

test('`attempts` counts the first time', async () => {
  await using server = await rawServer(failure(503, 'UNAVAILABLE'));
  await rejection(streamed(geminiAt(server, {attempts: 1})));
  expect(server.requests).toHaveLength(1);
  await rejection(streamed(geminiAt(server, {attempts: 5})));
  expect(server.requests).toHaveLength(6);
});

test('the HTTP option `retryOptions` is taken over, and genai does not retry by itself', async () => {
  await using server = await rawServer(failure(503, 'UNAVAILABLE'));
  await rejection(streamed(geminiAt(server, {httpOptions: {retryOptions: {attempts: 2, initialDelay: 0.001}}})));
  expect(server.requests).toHaveLength(2);
  await rejection(streamed(geminiAt(server), ask(undefined, {httpOptions: {retryOptions: {attempts: 1}}})));
  expect(server.requests).toHaveLength(3);
});

test('a server that cannot be reached is CONNECTION_LOST after the last attempt', async () => {
  const closed = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => closed.once('listening', resolve));
  const {port} = closed.address() as AddressInfo;
  await new Promise((resolve) => closed.close(resolve));
  await using server = await rawServer(good);
  const error = await rejection(streamed(geminiAt(server, {httpOptions: {baseUrl: `http://127.0.0.1:${port}`}})));
  expect(error).toMatchObject({code: 'CONNECTION_LOST', status: undefined, retryable: true});
  expect((error as Error).message).toContain('ECONNREFUSED');
});

test('the back-off doubles, give or take a quarter', async () => {
  await using server = await rawServer(failure(503, 'UNAVAILABLE'));
  await rejection(streamed(geminiAt(server, {attempts: 4, retryDelayMs: 400})));
  expect(backOffs).toHaveLength(3);
  for (const [index, delay] of backOffs.entries()) {
    expect(delay).toBeGreaterThanOrEqual(300 * 2 ** index);
    expect(delay).toBeLessThanOrEqual(500 * 2 ** index);
  }
});

test('RetryInfo is honoured', async () => {
  await using server = await rawServer(failure(429, 'RESOURCE_EXHAUSTED', 'slow down', [quota('PerMinute'), retryInfo('0.123s')]), good);
  expect(await streamed(geminiAt(server))).toEqual(goodWhole);
  expect(backOffs).toEqual([123]);
});

test.each([
  {what: 'a RetryInfo above 30 s', details: [retryInfo('30.5s')], retryDelayMs: 30_500, retryable: true},
  {
    what: 'a daily quota',
    details: [quota('GenerateRequestsPerDayPerProjectPerModel-FreeTier'), retryInfo('2s')],
    retryDelayMs: 2_000,
    retryable: false,
  },
])('$what is not waited for: the error says how long it would take', async ({details, retryDelayMs, retryable}) => {
  await using server = await rawServer(failure(429, 'RESOURCE_EXHAUSTED', 'quota', details), good);
  expect(await rejection(streamed(geminiAt(server)))).toMatchObject({
    code: 'RESOURCE_EXHAUSTED',
    status: 429,
    message: 'quota',
    retryDelayMs,
    retryable,
  });
  expect(server.requests).toHaveLength(1);
  expect(backOffs).toEqual([]);
});
