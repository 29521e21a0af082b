// The built package in Cloudflare's own runtime, without Node's modules.
import {stringifyContent, type Event} from 'sluice';
import {answer, chunks, GeminiServer, type GeminiReply} from 'sluice/testing';
import {afterAll, beforeAll, describe, expect, test} from 'vitest';
import {Client, eventsOf} from './client.ts';
import {linkedFolder} from './linked.ts';
import {expected} from './programs/core-loop.ts';
import {Workerd} from './workerd.ts';

const stalled = (): GeminiReply => chunks(['one', ' two'], {fault: {kind: 'stall', after: 1}});

let folder: Awaited<ReturnType<typeof linkedFolder>>;
beforeAll(async () => {
  folder = await linkedFolder();
});
afterAll(() => folder[Symbol.asyncDispose]());

test.each([[[]], [['nodejs_compat']]])(
  'with the flags %j runs go to their end, are left and are aborted as on Node',
  async (compatibilityFlags) => {
    await using host = await Workerd.start(folder.path, 'core-worker.ts', {compatibilityFlags});
    expect(await (await fetch(`${host.url}/core`)).json()).toEqual(expected);
  },
);

describe('without any compatibility flag', () => {
  test('a tool on worker threads is told that there are none, and the run goes on', async () => {
    await using host = await Workerd.start(folder.path, 'core-worker.ts');
    const [response] = (await (await fetch(`${host.url}/thread`)).json()) as string[];
    expect(response).toContain('The tool `thread` has its body on a worker thread, and this runtime has none');
  });

  test('a handler answers, streams runs that ask Gemini, and keeps runs of one session in order', async () => {
    const rest = Promise.withResolvers<string>();
    await using gemini = await GeminiServer.start({replies: [chunks(['one', rest.promise]), answer('three')]});
    await using host = await Workerd.start(folder.path, 'worker.ts', {bindings: {GEMINI: gemini.url}});
    const client = new Client(host.url);
    const events = eventsOf(await client.run('run_sse', 's'));
    expect(stringifyContent((await events.next()).value as Event)).toBe('one');
    // It waits for its turn, in a request of its own.
    const second = client.run('run', 's');
    await (await fetch(`${host.url}/health`)).json();
    rest.resolve(' two');
    const texts: string[] = [];
    for await (const event of events) texts.push(stringifyContent(event));
    expect(texts).toEqual([' two', 'one two']);
    expect(((await (await second).json()) as Event[]).map(stringifyContent)).toEqual(['three']);
    expect(await (await fetch(`${host.url}/log`)).json()).toEqual(['settled: done', 'settled: done']);
  });
});

test('with enable_request_signal, a client that leaves ends its run by the next heartbeat: the socket to the model closes, waitUntil stores', async () => {
  await using gemini = await GeminiServer.start({replies: [stalled(), answer('Here.')]});
  const bindings = {GEMINI: gemini.url, HEARTBEAT_MS: 100};
  await using host = await Workerd.start(folder.path, 'worker.ts', {bindings, compatibilityFlags: ['enable_request_signal']});
  const client = new Client(host.url);
  const leave = new AbortController();
  const events = eventsOf(await client.run('run_sse', 's', leave.signal));
  expect(stringifyContent((await events.next()).value as Event)).toBe('one');
  leave.abort();
  expect((await gemini.requests[0]?.closed)?.early).toBe(true);
  // It waits until the run before has stored all of it.
  await (await client.run('run', 's')).json();
  expect(await client.stored('s')).toEqual([
    ['user', 'Go.', undefined],
    ['root', 'one', true],
    ['user', 'Go.', undefined],
    ['root', 'Here.', undefined],
  ]);
  expect(await (await fetch(`${host.url}/log`)).json()).toEqual(['settled: return', 'settled: done']);
});

describe('in a Durable Object', () => {
  const start = (gemini: GeminiServer): Promise<Workerd> =>
    Workerd.start(folder.path, 'durable-object.ts', {
      bindings: {GEMINI: gemini.url, HEARTBEAT_MS: 100},
      durableObjects: {AGENTS: 'Agents'},
      compatibilityFlags: ['enable_request_signal'],
    });

  test('one request stops the run of another: the socket to the model closes, and its client is told', async () => {
    await using gemini = await GeminiServer.start({replies: [stalled()]});
    await using host = await start(gemini);
    const client = new Client(host.url);
    const events = eventsOf(await client.run('run_sse', 's'));
    await events.next();
    const cancel = await fetch(`${host.url}/apps/app/users/u/sessions/s/cancel`, {method: 'POST'});
    expect(await cancel.json()).toEqual({cancelled: 1});
    expect((await gemini.requests[0]?.closed)?.early).toBe(true);
    const rest: unknown[] = [];
    for await (const event of events) rest.push(event);
    expect(rest).toMatchObject([{code: 'RUN_CANCELLED'}]);
    expect(await client.stored('s')).toEqual([
      ['user', 'Go.', undefined],
      ['root', 'one', true],
    ]);
  });

  test('a client that leaves ends its run by the next heartbeat', async () => {
    await using gemini = await GeminiServer.start({replies: [stalled(), answer('Here.')]});
    await using host = await start(gemini);
    const client = new Client(host.url);
    const leave = new AbortController();
    const events = eventsOf(await client.run('run_sse', 's', leave.signal));
    await events.next();
    leave.abort();
    expect((await gemini.requests[0]?.closed)?.early).toBe(true);
    await (await client.run('run', 's')).json();
    expect((await client.stored('s'))[1]).toEqual(['root', 'one', true]);
  });
});
