import {getEventListeners} from 'node:events';
import {setFlagsFromString} from 'node:v8';
import {runInNewContext} from 'node:vm';
import {FunctionTool, type Run, type RunOutcome} from 'sluice';
import {deltas, functionCalls, hang, type ScriptedStep} from 'sluice/testing';
import {afterEach, describe, expect, test, vi} from 'vitest';
import type {StreamFormat} from '../../../lib/serve/stream/stream-format.ts';
import {toResponse, type ToResponseOptions} from '../../../lib/serve/stream/to-response.ts';
import {Loopback} from './loopback.ts';
import {messagesOf, stage, type Stage} from './stage.ts';

const FORMATS: readonly StreamFormat[] = ['sse', 'ndjson', 'ui-message-stream'];
// No other timer has this delay: what is left of it after a test would be seen.
const HEARTBEAT_MS = 54_321;

/** A moment in a run at which nothing moves: how far it got, and what it waits for. */
interface Moment {
  readonly name: string;
  readonly steps: readonly ScriptedStep[];
  /** How many partial Events come before. */
  readonly partials: number;
  /** Whether it waits for a tool. */
  readonly inTool?: boolean;
}

const stallAfter = (...pieces: string[]): ScriptedStep =>
  async function* () {
    yield* deltas(...pieces).slice(0, -1);
    await new Promise<never>(() => {});
  };

const MOMENTS: readonly Moment[] = [
  {name: 'before the first Event', steps: [hang()], partials: 0},
  {name: 'behind the first piece', steps: [stallAfter('One')], partials: 1},
  {name: 'between pieces', steps: [stallAfter('One', ', two', ', three')], partials: 3},
  {name: 'while tools run', steps: [functionCalls({name: 'wait'}, {name: 'wait'})], partials: 2, inTool: true},
  {name: 'behind the tools', steps: [functionCalls({name: 'done'}), hang()], partials: 0},
  {name: 'in the last reply', steps: [functionCalls({name: 'done'}), stallAfter('Now ', 'then')], partials: 2},
];

/** One tool that shows progress and never ends, and one that is done at once. */
function tools(): FunctionTool[] {
  return [
    new FunctionTool({
      name: 'wait',
      description: 'Waits.',
      async *execute(_args, {abortSignal}) {
        yield 'waiting';
        await new Promise((_, reject) => abortSignal.addEventListener('abort', reject, {once: true}));
      },
    }),
    new FunctionTool({name: 'done', description: 'Is done.', execute: () => 'done'}),
  ];
}

/** Which timers of the streams are live. */
function watchTimers(): Set<unknown> {
  const live = new Set<unknown>();
  const {setTimeout, clearTimeout} = globalThis;
  vi.spyOn(globalThis, 'setTimeout').mockImplementation(((callback: () => void, ms: number) => {
    const handle = setTimeout(callback, ms);
    if (ms === HEARTBEAT_MS) live.add(handle);
    return handle;
  }) as typeof globalThis.setTimeout);
  vi.spyOn(globalThis, 'clearTimeout').mockImplementation((handle) => {
    live.delete(handle);
    clearTimeout(handle);
  });
  return live;
}

afterEach(() => vi.restoreAllMocks());

interface Served {
  readonly loopback: Loopback;
  readonly run: Run;
  readonly stage: Stage;
}

/** A run behind a real socket. */
async function serve(moment: Moment, options: ToResponseOptions, tells?: {signal: boolean; cancel: boolean}): Promise<Served> {
  const it = await stage(moment.steps, tools());
  const run = it.run();
  const handler = (request: Request): Response => toResponse(run, {heartbeatMs: HEARTBEAT_MS, ...options, request});
  return {loopback: await Loopback.start(handler, tells), run, stage: it};
}

/** Reads until the run has got to the moment, then leaves. */
async function readAndLeave({loopback, stage}: Served, {partials, inTool, steps}: Moment): Promise<void> {
  const client = new AbortController();
  const response = await fetch(loopback.url, {method: 'POST', body: '{}', signal: client.signal});
  const messages = messagesOf(response);
  let seen = 0;
  while (seen < partials) {
    const {value, done} = await messages.next();
    if (done) throw new Error('The stream ended before its moment');
    const message = JSON.parse(value.data) as {partial?: boolean; type?: string; preliminary?: boolean};
    if (message.partial || message.preliminary || message.type === 'text-delta') seen++;
  }
  const asked = inTool ? 1 : steps.length;
  await vi.waitUntil(() => stage.model.calls === asked, {interval: 1, timeout: 10_000});
  client.abort();
}

describe.each(FORMATS)('a client of %s that leaves', (format) => {
  test.each(MOMENTS)('$name ends the run at once', async (moment) => {
    const timers = watchTimers();
    const served = await serve(moment, {format});
    await using loopback = served.loopback;
    await readAndLeave(served, moment);
    const left = performance.now();
    const outcome = await served.run.settled;
    expect(outcome.kind).toBe('return');
    expect(performance.now() - left).toBeLessThan(2_000);
    await served.stage.validEvents();
    expect(loopback.requests.map(({signal}) => getEventListeners(signal, 'abort').length)).toEqual([0]);
    expect(timers.size).toBe(0);
    expect(served.stage.model.signals.every((signal) => signal?.aborted)).toBe(true);
  });

  test.each([
    {signal: true, cancel: false},
    {signal: false, cancel: true},
  ])('is noticed by a host with %o', async (tells) => {
    const moment = MOMENTS[2] as Moment;
    const served = await serve(moment, {format}, tells);
    await using _loopback = served.loopback;
    await readAndLeave(served, moment);
    expect((await served.run.settled).kind).toBe('return');
    await served.stage.validEvents();
  });

  test('at the end leaves a run that is done', async () => {
    const timers = watchTimers();
    const moment: Moment = {name: 'end', steps: [functionCalls({name: 'done'}), deltas('All ', 'good.')], partials: 0};
    const kept: Promise<unknown>[] = [];
    const served = await serve(moment, {format, waitUntil: (promise) => kept.push(promise)});
    await using loopback = served.loopback;
    const response = await fetch(loopback.url, {method: 'POST', body: '{}'});
    for await (const _message of messagesOf(response));
    expect((await kept[0]) as RunOutcome).toMatchObject({kind: 'done', llmCalls: 2});
    expect(await served.stage.validEvents()).toHaveLength(4);
    expect(getEventListeners(loopback.requests[0]?.signal as AbortSignal, 'abort')).toEqual([]);
    expect(timers.size).toBe(0);
  });

  test.each(MOMENTS)('$name lets the run go on with onDisconnect: continue', async (moment) => {
    const gate = Promise.withResolvers<void>();
    const go = async function* (): AsyncGenerator<ReturnType<typeof deltas>[number]> {
      yield* deltas('One', ', two', ', three').slice(0, moment.partials);
      await gate.promise;
      yield* deltas('One', ', two', ', three').slice(moment.partials);
    };
    const kept: Promise<unknown>[] = [];
    const its = {...moment, steps: [go, 'never asked'], partials: Math.min(moment.partials, 3), inTool: true};
    const served = await serve(its, {format, onDisconnect: 'continue', waitUntil: (promise) => kept.push(promise)});
    await using loopback = served.loopback;
    await readAndLeave(served, its);
    // The server knows: only then the model goes on.
    await vi.waitUntil(() => loopback.requests.every(({signal}) => signal.aborted), {interval: 1, timeout: 10_000});
    gate.resolve();
    expect(await kept[0]).toMatchObject({kind: 'done', llmCalls: 1});
    const events = await served.stage.validEvents();
    expect(events.at(-1)?.content?.parts).toEqual([{text: 'One, two, three'}]);
  });
});

describe('a stream without a socket', () => {
  test('asks nothing of the model before it is read, and a cancelled body ends the run', async () => {
    const it = await stage(['Never said.']);
    const run = it.run();
    await toResponse(run).body?.cancel();
    expect(await run.settled).toMatchObject({kind: 'return', llmCalls: 0});
    expect(it.model.calls).toBe(0);
  });

  test('ends a run also where its body is never read, once the signal fires', async () => {
    const it = await stage([hang()]);
    const run = it.run();
    const client = new AbortController();
    const response = toResponse(run, {signal: client.signal});
    client.abort();
    expect((await run.settled).kind).toBe('return');
    expect(await response.text()).toBe('');
    expect(getEventListeners(client.signal, 'abort')).toEqual([]);
  });

  test('ends a run at once where the client had left before', async () => {
    const it = await stage(['Never said.']);
    const run = it.run();
    const response = toResponse(run, {signal: AbortSignal.abort()});
    expect(await run.settled).toMatchObject({kind: 'return', llmCalls: 0});
    expect(await response.text()).toBe('');
  });

  test('hears the signal of a request that nobody else holds', async () => {
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as () => void;
    const it = await stage([stallAfter('One')]);
    const run = it.run();
    const client = new AbortController();
    const reader = toResponse(run, {request: new Request('http://127.0.0.1/', {signal: client.signal})}).body?.getReader();
    await reader?.read();
    const pending = reader?.read();
    for (let round = 0; round < 5; round++) {
      collect();
      await new Promise(setImmediate);
    }
    client.abort();
    expect((await run.settled).kind).toBe('return');
    expect((await pending)?.done).toBe(true);
  });

  test('a body that is cancelled does not wait for a run that goes on', async () => {
    const gate = Promise.withResolvers<string>();
    const it = await stage([gate.promise]);
    const run = it.run();
    const body = toResponse(run, {onDisconnect: 'continue'}).body;
    await body?.cancel();
    gate.resolve('Done.');
    expect(await run.settled).toMatchObject({kind: 'done', llmCalls: 1});
  });

  test('tells the log once of a run that fails when its client has left', async () => {
    const gate = Promise.withResolvers<string>();
    const it = await stage([gate.promise]);
    const run = it.run();
    const logged: unknown[] = [];
    const reader = toResponse(run, {onDisconnect: 'continue', onError: (error) => logged.push(error)}).body?.getReader();
    const pending = reader?.read();
    await vi.waitUntil(() => it.model.calls === 1, {interval: 1, timeout: 10_000});
    await reader?.cancel();
    gate.reject(new Error('down'));
    const {kind, reason} = await run.settled;
    expect(kind).toBe('error');
    expect((await pending)?.done).toBe(true);
    await new Promise(setImmediate);
    expect(logged).toEqual([reason]);
  });

  test('cancelling twice, and a signal behind that, do no harm', async () => {
    const it = await stage([stallAfter('One')]);
    const run = it.run();
    const client = new AbortController();
    const reader = toResponse(run, {signal: client.signal}).body?.getReader();
    await reader?.read();
    const pending = reader?.read();
    client.abort();
    await reader?.cancel();
    await reader?.cancel();
    expect(await pending).toEqual({done: true, value: undefined});
    expect((await run.settled).kind).toBe('return');
  });
});
