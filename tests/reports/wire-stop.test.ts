// What people reported about runs that go on when nobody wants them any more: sockets, routes, helpers around a stream.
import {createServer, type IncomingMessage, type ServerResponse} from 'node:http';
import type {AddressInfo} from 'node:net';
import {performance} from 'node:perf_hooks';
import {ReadableStream as NodeReadableStream} from 'node:stream/web';
import {afterEach, beforeEach, describe, expect, test, vi} from 'vitest';
import {FunctionTool, getFunctionResponses, RunTimeoutError, StreamingMode, type Event, type Run} from 'sluice';
import {answer, calls, chunks, collect, deltas, functionCalls, ToolService, type GeminiRequest} from 'sluice/testing';
import {expectNoListeners, expectValid, idle, line, lines, stage, type Stage} from '../stories/kit.ts';
import {wired, type Wired} from './wired.ts';

const unhandled: unknown[] = [];
const note = (reason: unknown): void => void unhandled.push(reason);
beforeEach(() => void process.on('unhandledRejection', note));
afterEach(async () => {
  await idle();
  process.off('unhandledRejection', note);
  const left = unhandled.splice(0);
  if (left.length > 0) throw new AggregateError(left, 'Rejections that nobody handled');
});

const stalled = () => chunks(['one', ' two', ' three'], {fault: {kind: 'stall', after: 1}});

/** Milliseconds from a moment to the close of a request, as its server saw it. */
async function closedAfter(request: GeminiRequest | undefined, moment: number): Promise<number> {
  if (!request) throw new Error('There was no such request');
  const {early, afterMs} = await request.closed;
  expect(early).toBe(true);
  return request.receivedAt + afterMs - moment;
}

/** The best of up to five tries: on a busy machine one may wait for the processor, and what never closes does so every time. */
async function atBest(tries: () => Promise<number>): Promise<number> {
  let best = Infinity;
  for (let n = 0; n < 5 && best >= 100; n++) best = Math.min(best, await tries());
  return best;
}

const leaving: [string, (run: Run, it: Wired) => Promise<unknown>][] = [
  ['return()', (run) => run.return()],
  ['await using', (run) => run[Symbol.asyncDispose]()],
  ['throw()', (run) => run.throw(new Error('thrown in')).catch(() => {})],
  ['cancel()', (_run, it) => it.stage.runner.cancel({userId: 'u', sessionId: 's'})],
  ['close()', (_run, it) => it.stage.runner.close({timeoutMs: 0})],
];

describe('the response of the model', () => {
  // googleapis/js-genai#1918, strands-agents/sdk-typescript PR#796
  test('is closed within 100 ms of a break, and the same agent and session run again', async () => {
    const closing = async (): Promise<number> => {
      await using it = await wired({replies: [stalled(), answer('again')]});
      let left = 0;
      for await (const event of it.stage.run()) {
        expect(line(event)).toBe('root: "one" [partial]');
        left = performance.now();
        break;
      }
      const closed = await closedAfter(it.server.requests[0], left);
      expect((await lines(it.stage.run('and?'))).at(-1)).toBe('root: "again"');
      expect(it.server.requests[1]?.body.contents?.map(({parts}) => parts?.[0]?.text)).toEqual(['go', 'one', 'and?']);
      return closed;
    };
    expect(await atBest(closing)).toBeLessThan(100);
  });

  test.each(leaving)('is closed within 100 ms of %s, also while a next() is pending', async (_, leave) => {
    const closing = async (): Promise<number> => {
      await using it = await wired({replies: [stalled()]});
      const run = it.stage.run();
      await run.next();
      const pending = run.next().catch(() => {});
      await idle();
      const left = performance.now();
      await leave(run, it);
      await pending;
      const closed = await closedAfter(it.server.requests[0], left);
      return closed;
    };
    expect(await atBest(closing)).toBeLessThan(100);
  });
});

// strands-agents/harness-sdk#3992
describe("the signal of the adapter's fetch", () => {
  const never = (): Response =>
    new Response(new ReadableStream({pull: (controller) => controller.enqueue(sseChunk())}, {highWaterMark: 0}));
  const sseChunk = (): Uint8Array =>
    new TextEncoder().encode('data: {"candidates": [{"content": {"parts": [{"text": "more"}], "role": "model"}, "index": 0}]}\r\n\r\n');

  async function recording(): Promise<{it: Wired; signals: AbortSignal[]}> {
    const signals: AbortSignal[] = [];
    const fetch = async (_input: unknown, init?: RequestInit): Promise<Response> => {
      if (init?.signal) signals.push(init.signal);
      return never();
    };
    return {it: await wired({gemini: {httpOptions: {fetch}}}), signals};
  }

  test('fires on an abort', async () => {
    const {it, signals} = await recording();
    const stop = new AbortController();
    const run = it.stage.run('go', {abortSignal: stop.signal});
    await run.next();
    expect(signals.map(({aborted}) => aborted)).toEqual([false]);
    stop.abort('stop');
    await expect(run.next()).rejects.toBe('stop');
    expect(signals.map(({aborted}) => aborted)).toEqual([true]);
    expect(signals).not.toContain(stop.signal);
    expectNoListeners(stop.signal);
    await it[Symbol.asyncDispose]();
  });

  test('fires on a break', async () => {
    const {it, signals} = await recording();
    for await (const _ of it.stage.run()) break;
    expect(signals.map(({aborted}) => aborted)).toEqual([true]);
    await it[Symbol.asyncDispose]();
  });

  test.each(leaving)('fires on %s', async (_, leave) => {
    const {it, signals} = await recording();
    const run = it.stage.run();
    await run.next();
    await leave(run, it);
    expect(signals.map(({aborted}) => aborted)).toEqual([true]);
    await it[Symbol.asyncDispose]();
  });

  test("fires on the run's deadline", async () => {
    vi.useFakeTimers({toFake: ['setTimeout', 'clearTimeout']});
    try {
      const {it, signals} = await recording();
      const run = it.stage.run('go', {runConfig: {timeoutMs: 30_000}});
      await run.next();
      expect(signals.map(({aborted}) => aborted)).toEqual([false]);
      await vi.advanceTimersByTimeAsync(30_000);
      expect(await run.settled).toMatchObject({kind: 'timeout', reason: expect.any(RunTimeoutError)});
      expect(signals.map(({aborted}) => aborted)).toEqual([true]);
      await it[Symbol.asyncDispose]();
      expect(vi.getTimerCount()).toBe(0);
    } finally {
      vi.useRealTimers();
    }
  });
});

/** A tool that asks a slow service, and passes its signal on. */
const fetching = (service: ToolService, name = 'look_up') =>
  new FunctionTool({
    name,
    description: 'Asks a service.',
    execute: async (_args, {abortSignal}) => {
      const response = await fetch(`${service.url}/${name}`, {signal: abortSignal});
      return response.text();
    },
  });

const sseLine = (event: Event): string => `data: ${JSON.stringify(event)}\n\n`;

describe('a route whose client leaves', () => {
  /** A Node route as anybody would write it: the events as SSE, and an abort when the client has gone. */
  function serve(it: Stage): {listen: () => Promise<string>; run: Promise<Run>; signal: Promise<AbortSignal>; close: () => void} {
    const run = Promise.withResolvers<Run>();
    const signal = Promise.withResolvers<AbortSignal>();
    const route = async (_request: IncomingMessage, response: ServerResponse): Promise<void> => {
      const stop = new AbortController();
      response.on('close', () => {
        if (!response.writableFinished) stop.abort();
      });
      const mine = it.run('go', {abortSignal: stop.signal});
      run.resolve(mine);
      signal.resolve(stop.signal);
      response.writeHead(200, {'content-type': 'text/event-stream'});
      try {
        for await (const event of mine) response.write(sseLine(event));
        response.end();
      } catch {
        response.destroy();
      }
    };
    const server = createServer((request, response) => void route(request, response));
    return {
      listen: async () => {
        await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
        return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
      },
      run: run.promise,
      signal: signal.promise,
      close: () => void (server.closeAllConnections(), server.close()),
    };
  }

  // genkit-ai/genkit#6308, google/adk-js#234, #382
  test('in the middle of its tools makes no further model call, closes their sockets, and leaves a valid session', async () => {
    await using service = await ToolService.start({delayMs: 30_000});
    await using it = await wired({
      agent: {tools: [fetching(service, 'one'), fetching(service, 'two')]},
      replies: [calls([{name: 'one'}, {name: 'two'}]), answer('unused')],
    });
    const route = serve(it.stage);
    const client = new AbortController();
    const answering = fetch(await route.listen(), {method: 'POST', body: '{}', signal: client.signal}).then((response) => response.text());
    answering.catch(() => {});
    const asked = [await service.nextRequest(), await service.nextRequest()];
    client.abort();

    const run = await route.run;
    expect(await run.settled).toMatchObject({kind: 'abort', llmCalls: 1, abandoned: []});
    expect((await route.signal).aborted).toBe(true);
    expect(await Promise.all(asked.map(async ({closed}) => (await closed).early))).toEqual([true, true]);
    await expect(answering).rejects.toMatchObject({name: 'AbortError'});
    for (let turn = 0; turn < 5; turn++) await idle();
    expect(it.server.requests).toHaveLength(1);
    expectValid(await it.stage.stored());
    expect(getFunctionResponses((await it.stage.stored()).at(-1)!).map(({response}) => response?.['started'])).toEqual([true, true]);
    expectNoListeners(await route.signal);
    route.close();
  });

  test('in mid stream closes the response of the model', async () => {
    await using it = await wired({replies: [stalled()]});
    const route = serve(it.stage);
    const response = await fetch(await route.listen(), {method: 'POST', body: '{}'});
    const reader = response.body!.getReader();
    await reader.read();
    await reader.cancel();
    expect((await it.server.requests[0]?.closed)?.early).toBe(true);
    expect(await (await route.run).settled).toMatchObject({kind: 'abort'});
    expect((await it.stage.stored()).map(line)).toEqual(['user: "go"', 'root: "one" [stopped]']);
    route.close();
  });

  test('and that only has a Request to watch is stopped by its signal', async () => {
    await using service = await ToolService.start({delayMs: 30_000});
    await using it = await wired({agent: {tools: [fetching(service)]}, replies: [calls([{name: 'look_up'}]), answer('unused')]});
    let settled: Run['settled'] | undefined;
    const handler = async (request: Request): Promise<Response> => {
      const run = it.stage.run('go', {abortSignal: request.signal});
      settled = run.settled;
      const {events} = await collect(run);
      return Response.json(events);
    };
    const client = new AbortController();
    const request = new Request('http://app.example/run', {method: 'POST', signal: client.signal});
    const answering = handler(request);
    const asked = await service.nextRequest();
    client.abort('gone');
    expect((await asked.closed).early).toBe(true);
    expect(await settled).toMatchObject({kind: 'abort', reason: 'gone', llmCalls: 1});
    await answering;
    expect(it.server.requests).toHaveLength(1);
    expectNoListeners(request.signal);
  });
});

/** A run as the body of a response: what a helper for server-sent events comes to. */
function toResponse(run: Run): Response {
  const encoder = new TextEncoder();
  const encode = new TransformStream<Event, Uint8Array>({
    transform: (event, controller) => controller.enqueue(encoder.encode(sseLine(event))),
  });
  // The types of the DOM do not know `from` yet.
  const events = NodeReadableStream.from<Event>(run) as unknown as ReadableStream<Event>;
  return new Response(events.pipeThrough(encode), {headers: {'content-type': 'text/event-stream'}});
}

describe('a run as the body of a response', () => {
  const endless = (log: number[], ends: string[]) =>
    new FunctionTool({
      name: 'count',
      description: 'Counts without end.',
      async *execute() {
        try {
          for (let n = 0; ; n++) {
            log.push(n);
            yield n;
          }
        } finally {
          ends.push('finally');
        }
      },
    });

  // assistant-ui/assistant-ui PR#7376
  test('is at most one event ahead of a reader that never comes, and ends when the body is cancelled', async () => {
    const progress: number[] = [];
    const ends: string[] = [];
    const it = await stage({steps: [functionCalls({name: 'count'}), 'unused'], agent: {tools: [endless(progress, ends)]}});
    const run = it.run();
    const response = toResponse(run);
    for (let turn = 0; turn < 50; turn++) await idle();
    // One event may stand in the transform; it is the call.
    expect(progress).toEqual([]);
    expect(it.model.calls).toBeLessThanOrEqual(1);
    await response.body?.cancel();
    expect(await run.settled).toMatchObject({kind: 'return'});
    expectValid(await it.stored());
  });

  test('is at most one event ahead of a reader that stops reading, and ends when it cancels', async () => {
    const progress: number[] = [];
    const ends: string[] = [];
    const it = await stage({steps: [functionCalls({name: 'count'}), 'unused'], agent: {tools: [endless(progress, ends)]}});
    const run = it.run();
    const reader = toResponse(run).body!.getReader();
    for (let read = 0; read < 5; read++) await reader.read();
    for (let turn = 0; turn < 50; turn++) await idle();
    // The call and the numbers 0 to 3 were read; one event may be under way, and the body is at the next.
    expect(progress.length).toBeLessThanOrEqual(6);
    await reader.cancel('enough');
    expect(await run.settled).toMatchObject({kind: 'return'});
    expect(ends).toEqual(['finally']);
    expect(it.model.calls).toBe(1);
    expectValid(await it.stored());
  });

  // VoltAgent/voltagent#1186, vercel/ai PR#7982, mastra-ai/mastra#14494
  test.each(['reads it to its end', 'cancels it'])(
    'keeps a serverless host alive, by `settled`, until the work is done: the client %s',
    async (what) => {
      const gate = Promise.withResolvers<void>();
      const it = await stage({
        steps: [
          async function* () {
            yield deltas('Good ')[0]!;
            await gate.promise;
            yield* deltas(' day').slice(0, 1);
            yield deltas('Good ', ' day').at(-1)!;
          },
        ],
        runConfig: {streamingMode: StreamingMode.SSE},
      });
      const alive: Promise<unknown>[] = [];
      const waitUntil = (work: Promise<unknown>): void => void alive.push(work);
      const handler = (): Response => {
        const run = it.run();
        waitUntil(run.settled);
        return toResponse(run);
      };

      const over: unknown[] = [];
      const response = handler();
      void Promise.all(alive).then((outcomes) => over.push(...outcomes));
      const reader = response.body!.getReader();
      await reader.read();
      for (let turn = 0; turn < 20; turn++) await idle();
      expect(over).toEqual([]);
      if (what === 'cancels it') await reader.cancel();
      else {
        gate.resolve();
        while (!(await reader.read()).done);
      }
      await Promise.all(alive);
      expect(over).toMatchObject([{kind: what === 'cancels it' ? 'return' : 'done'}]);
      // By then all is stored.
      expect((await it.stored()).map(line)).toEqual([
        'user: "go"',
        what === 'cancels it' ? 'root: "Good " [stopped]' : 'root: "Good  day"',
      ]);
    },
  );
});

// vercel/ai#16753
test('a reader that stops reading stops the server too: of 50 MB only what fits into the buffers of the sockets is sent', async () => {
  const piece = 'x'.repeat(10_000);
  let produced = 0;
  await using it = await wired({
    replies: [
      chunks(
        (function* () {
          for (; produced < 5_000; produced++) yield piece;
        })(),
      ),
    ],
  });
  const run = it.stage.run();
  await run.next();
  const request = await it.server.nextRequest();
  // The server goes on until the buffers are full, and then no more.
  let sent = -1;
  await vi.waitUntil(() => sent === (sent = request.bytesSent), {interval: 200, timeout: 15_000});
  expect(request.bytesSent).toBeLessThan(25_000_000);
  expect(produced).toBeLessThan(2_500);
  await run.return();
  expect((await request.closed).early).toBe(true);
});
