import {getEventListeners} from 'node:events';
import {setTimeout as pass} from 'node:timers/promises';

import {afterEach, expect, test, vi} from 'vitest';

import {ModelError} from '../../lib/errors.ts';
import {ask, geminiAt, rejection, streamed, whole} from './asking.ts';
import {event, failure, rawServer, silence, stalled, text} from './raw-server.ts';

afterEach(() => vi.useRealTimers());

test.each([
  {what: 'no headers', answer: silence, options: {firstChunkMs: 40}, code: 'FIRST_CHUNK_TIMEOUT'},
  {what: 'headers and nothing more', answer: stalled(), options: {firstChunkMs: 40}, code: 'FIRST_CHUNK_TIMEOUT'},
  {what: 'a chunk and then nothing', answer: stalled(text('one')), options: {idleMs: 40}, code: 'IDLE_TIMEOUT'},
  {what: 'no headers in time for the total', answer: silence, options: {totalMs: 40}, code: 'TOTAL_TIMEOUT'},
  {what: 'a chunk and no end', answer: stalled(text('one')), options: {totalMs: 60}, code: 'TOTAL_TIMEOUT'},
])('a stream with $what ends in $code, its socket closed', async ({answer, options, code}) => {
  await using server = await rawServer(answer);
  const stop = new AbortController();

  const error = await rejection(streamed(geminiAt(server, options), ask(), stop.signal));

  expect(error).toBeInstanceOf(ModelError);
  expect(error).toMatchObject({code, status: undefined, retryable: true});
  expect(await (await server.request(0)).closed).toBe('closed early');
  expect(server.requests).toHaveLength(1);
  expect(getEventListeners(stop.signal, 'abort')).toEqual([]);
});

test('what came before a deadline was yielded', async () => {
  await using server = await rawServer(stalled(text('one'), text('two')));
  const seen: unknown[] = [];
  const error = await rejection(
    (async () => {
      for await (const {content} of geminiAt(server, {idleMs: 40}).generateContentAsync(ask(), true)) seen.push(content?.parts?.[0]?.text);
    })(),
  );
  expect(error).toMatchObject({code: 'IDLE_TIMEOUT'});
  expect(seen).toEqual(['one', 'two']);
});

test('a call that is not streamed knows only the total', async () => {
  await using server = await rawServer(silence);
  const error = await rejection(whole(geminiAt(server, {firstChunkMs: 10, idleMs: 10, totalMs: 60})));
  expect(error).toMatchObject({code: 'TOTAL_TIMEOUT', message: 'The model did not finish its answer within 60 ms'});
  expect(await (await server.request(0)).closed).toBe('closed early');
});

test('a stream that never pauses for long ends by its total all the same', async () => {
  await using server = await rawServer(async (response) => {
    response.writeHead(200, {'Content-Type': 'text/event-stream'});
    while (!response.closed) {
      response.write(event(text('on')));
      await pass(5);
    }
  });
  const error = await rejection(streamed(geminiAt(server, {idleMs: 5_000, totalMs: 80})));
  expect(error).toMatchObject({code: 'TOTAL_TIMEOUT'});
  expect(await (await server.request(0)).closed).toBe('closed early');
});

test('a slow reader trips no deadline', async () => {
  const rest = Promise.withResolvers<void>();
  await using server = await rawServer(async (response) => {
    response.writeHead(200, {'Content-Type': 'text/event-stream'});
    response.write(event(text('one')));
    await rest.promise;
    response.end(event(text('two', 'STOP')));
  });
  const responses = geminiAt(server, {firstChunkMs: 2_000, idleMs: 50, totalMs: 2_000}).generateContentAsync(ask(), true);
  expect(await responses.next()).toMatchObject({value: {content: {parts: [{text: 'one'}]}}});
  // Longer than `idleMs`, in which nobody reads.
  await pass(200);
  rest.resolve();
  await pass(20);
  expect(await responses.next()).toMatchObject({value: {content: {parts: [{text: 'two'}]}}});
  expect(await responses.next()).toMatchObject({value: {content: {parts: [{text: 'onetwo'}]}, finishReason: 'STOP'}});
});

test('the HTTP option `timeout` is the total, is not told to the server, and does not cut a stream whose reader is slow', async () => {
  await using server = await rawServer(silence);
  const model = geminiAt(server, {httpOptions: {timeout: 50}});
  expect(await rejection(streamed(model))).toMatchObject({code: 'TOTAL_TIMEOUT'});
  expect(await rejection(whole(geminiAt(server), ask(undefined, {httpOptions: {timeout: 50}})))).toMatchObject({code: 'TOTAL_TIMEOUT'});
  expect(server.requests.map(({headers}) => headers['x-server-timeout'])).toEqual([undefined, undefined]);
});

test('a back-off that would outlast the total is not begun: the failure is thrown', async () => {
  await using server = await rawServer(failure(503, 'UNAVAILABLE', 'overloaded'));
  const error = await rejection(streamed(geminiAt(server, {retryDelayMs: 20_000, totalMs: 5_000})));
  expect(error).toMatchObject({code: 'UNAVAILABLE', message: 'overloaded', status: 503});
  expect(server.requests).toHaveLength(1);
});
