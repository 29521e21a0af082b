import {once} from 'node:events';
import {request as httpRequest, type IncomingMessage} from 'node:http';
import type {CreateEventParams} from 'sluice';
import {describe, expect, test, vi} from 'vitest';
import {RunFeed} from '../../../lib/serve/stream/run-feed.ts';
import type {StreamFormat} from '../../../lib/serve/stream/stream-format.ts';
import {toResponse} from '../../../lib/serve/stream/to-response.ts';
import {Loopback} from './loopback.ts';
import {eventsOf, messagesOf, scriptedRun} from './stage.ts';

const FORMATS: readonly StreamFormat[] = ['sse', 'ndjson', 'ui-message-stream'];

describe.each(FORMATS)('%s', (format) => {
  test('asks for one Event per read', async () => {
    let made = 0;
    const run = scriptedRun(function* () {
      for (;;) yield {id: String(++made), content: {role: 'model', parts: [{text: 'More.'}]}};
    });
    const reader = toResponse(run, {format}).body?.getReader();
    for (let read = 1; read <= 5; read++) {
      await reader?.read();
      expect(made).toBe(read);
    }
    await reader?.cancel();
  });

  test('does not run ahead of a slow client on a real socket', async () => {
    let made = 0;
    let ahead = 0;
    const text = 'x'.repeat(65_536);
    const total = 400;
    const run = scriptedRun(function* () {
      while (made < total) {
        ahead = Math.max(ahead, ++made - loopback.written);
        yield {id: String(made), partial: made % 10 !== 0, content: {role: 'model', parts: [{text}]}};
      }
    });
    await using loopback = await Loopback.start((request) => toResponse(run, {format, request}));
    const client = httpRequest(loopback.url).end();
    const [incoming] = (await once(client, 'response')) as [IncomingMessage];
    // Nothing is read before the socket is full, so that the server has to wait.
    await vi.waitUntil(() => made > 0 && loopback.waiting, {interval: 1, timeout: 10_000});
    expect(made).toBeLessThan(total);
    let bytes = 0;
    for await (const chunk of incoming) bytes += (chunk as Uint8Array).length;
    expect(bytes).toBeGreaterThan(text.length * total * 0.9);
    // One that is written and waits for room, and one that its reader has asked for.
    expect(ahead).toBeLessThanOrEqual(2);
    expect((await run.settled).kind).toBe('done');
  });
});

describe('heartbeats', () => {
  const beats = {sse: ': heartbeat\n\n', ndjson: '\n', 'ui-message-stream': ': heartbeat\n\n'};

  test.each(FORMATS)('come while a stream of %s waits, one per read', async (format) => {
    vi.useFakeTimers();
    try {
      const gate = Promise.withResolvers<void>();
      const run = scriptedRun(async function* () {
        await gate.promise;
        yield {id: 'e1', content: {role: 'model', parts: [{text: 'At last.'}]}};
      });
      const reader = toResponse(run, {format, heartbeatMs: 1_000}).body?.pipeThrough(new TextDecoderStream()).getReader();
      const first = reader?.read();
      await vi.advanceTimersByTimeAsync(1_000);
      expect((await first)?.value).toBe(beats[format]);
      // Whoever does not read is sent nothing, however long it takes: what a pipe reads ahead on its own is one.
      await vi.advanceTimersByTimeAsync(60_000);
      expect((await reader?.read())?.value).toBe(beats[format]);
      gate.resolve();
      let rest = '';
      for (let next = await reader?.read(); next && !next.done; next = await reader?.read()) rest += next.value;
      expect(rest.split(beats[format]).filter((part) => part === '').length).toBeLessThanOrEqual(2);
      expect(rest).toContain('At last.');
      expect(vi.getTimerCount()).toBe(0);
    } finally {
      vi.useRealTimers();
    }
  });

  test('never come with Infinity, nor between Events that do not wait', async () => {
    vi.useFakeTimers();
    try {
      const script = function* (): Generator<CreateEventParams> {
        yield {id: 'e1'};
        yield {id: 'e2'};
      };
      const silent = toResponse(scriptedRun(script), {heartbeatMs: Infinity}).body?.getReader();
      await silent?.read();
      expect(vi.getTimerCount()).toBeLessThanOrEqual(1); // the run's own deadline
      await silent?.cancel();
      const response = toResponse(scriptedRun(script), {heartbeatMs: 1});
      expect(await response.text()).not.toContain('heartbeat');
    } finally {
      vi.useRealTimers();
    }
  });

  test('lose no Event that comes behind them', async () => {
    const gates = [1, 2, 3].map(() => Promise.withResolvers<void>());
    const run = scriptedRun(async function* () {
      for (const [at, gate] of gates.entries()) {
        await gate.promise;
        yield {id: `e${at}`};
      }
    });
    const feed = new RunFeed(run);
    const response = feed.toResponse({heartbeatMs: 2});
    const reader = response.body?.getReader();
    const decoder = new TextDecoder();
    let text = '';
    let beats = 0;
    for (const gate of gates) {
      for (;;) {
        const chunk = decoder.decode((await reader?.read())?.value);
        text += chunk;
        if (!chunk.startsWith(':')) throw new Error(`Expected a heartbeat, got ${chunk}`);
        if (++beats % 3 === 0) break;
      }
      gate.resolve();
      for (;;) {
        const chunk = decoder.decode((await reader?.read())?.value);
        text += chunk;
        if (chunk.startsWith('id:')) break;
      }
    }
    expect((await reader?.read())?.done).toBe(true);
    const messages = [];
    for await (const message of messagesOf(new Response(text, {headers: {'content-type': 'text/event-stream'}}))) messages.push(message);
    expect(eventsOf(messages).map(({id}) => id)).toEqual(['e0', 'e1', 'e2']);
  });
});
