import {once} from 'node:events';
import type {Socket} from 'node:net';
import {expect, test} from 'vitest';
import {FunctionTool, type RunOutcome} from 'sluice';
import {Gemini} from 'sluice/gemini';
import type {Handler} from 'sluice/serve';
import {chunks, deltas, functionCalls, GeminiServer, type ScriptedFunction} from 'sluice/testing';
import {expectNoListeners, expectValid, line} from '../stories/kit.ts';
import {gate, saying, Served, SESSION, site} from './kit.ts';

/** How long a run may go on after its client has left, in milliseconds. */
const BOUND_MS = 100;

/** A handler behind a socket, and the outcomes of its runs. */
async function serve(handler: Handler): Promise<{readonly served: Served; readonly outcome: Promise<RunOutcome>}> {
  const {promise: outcome, resolve} = gate<RunOutcome>();
  const waitUntil = (settled: Promise<unknown>): void => void settled.then((it) => resolve(it as RunOutcome));
  return {served: await Served.start((request) => handler(request, {waitUntil})), outcome};
}

/** The least of several tries, in milliseconds: what a busy machine adds is not what is measured. */
async function quickest(attempt: () => Promise<number>): Promise<number> {
  let least = Infinity;
  for (let tries = 0; tries < 3; tries++) least = Math.min(least, await attempt());
  return least;
}

/** Breaks the connection, and tells how long the run went on. */
async function leave(socket: Socket, outcome: Promise<RunOutcome>): Promise<{readonly kind: string; readonly ms: number}> {
  const left = performance.now();
  socket.resetAndDestroy();
  const {kind} = await outcome;
  return {kind, ms: performance.now() - left};
}

/** A tool that waits for its signal, which it tells when it has begun. */
function stuck(): {readonly tool: FunctionTool; readonly begun: Promise<AbortSignal>} {
  const {promise: begun, resolve} = gate<AbortSignal>();
  const execute = (_: unknown, {abortSignal}: {readonly abortSignal: AbortSignal}): Promise<never> => {
    resolve(abortSignal);
    return new Promise((_, reject) => abortSignal.addEventListener('abort', () => reject(new Error('stopped')), {once: true}));
  };
  return {tool: new FunctionTool({name: 'wait', description: 'Waits.', execute}), begun};
}

test.each(['/run', '/run_sse'])('%s ends its run when the client leaves in the middle of a tool', async (path) => {
  const ms = await quickest(async () => {
    const {tool, begun} = stuck();
    const it = await site({steps: [functionCalls({name: 'wait', args: {}}), 'never'], agent: {tools: [tool]}});
    const {served, outcome} = await serve(it.handler);
    await using _ = served;
    const socket = served.post(path, saying('go'));
    const signal = await begun;
    const {kind, ms} = await leave(socket, outcome);
    expect(kind).toMatch(/^(abort|return)$/);
    const stored = await it.stored();
    expect(stored.map(line)).toEqual(['user: "go"', 'root: wait({})', expect.stringContaining('wait={"error":"cancelled')]);
    expectNoListeners(signal);
    expect([it.model.calls, it.errors]).toEqual([1, []]);
    return ms;
  });
  expect(ms).toBeLessThan(BOUND_MS);
});

test.each(['/run', '/run_sse'])('%s closes the model’s connection when the client leaves in the middle of a reply', async (path) => {
  const ms = await quickest(async () => {
    await using server = await GeminiServer.start({replies: [chunks(['It', ' rains'], {fault: {kind: 'stall', after: 1}})]});
    const model = new Gemini({model: 'gemini-2.5-flash', apiKey: 'test', httpOptions: {baseUrl: server.url}});
    const it = await site({agent: {model}});
    const {served, outcome} = await serve(it.handler);
    await using _ = served;
    const socket = served.post(path, saying('go', {streaming: true}));
    const asked = await server.nextRequest();
    // The first piece has come where it is shown; /run shows nothing before the end.
    if (path === '/run_sse') await once(socket, 'data');
    const {ms} = await leave(socket, outcome);
    expect(await asked.closed).toMatchObject({early: true});
    expectValid(await it.stored());
    expect(it.errors).toEqual([]);
    return ms;
  });
  expect(ms).toBeLessThan(BOUND_MS);
});

test('a run that waits for its session leaves the queue with its client', async () => {
  const [asked, answer] = [gate(), gate<string>()];
  const step: ScriptedFunction = () => (asked.resolve(), answer.promise);
  const it = await site({steps: [step, 'never']});
  const first = it.ask('POST', '/run', saying('first'));
  await asked.promise;
  const {served, outcome} = await serve(it.handler);
  await using _ = served;
  const socket = served.post('/run', saying('second'));
  while (((await it.json('GET', `${SESSION}/runs`)).body as {runs: unknown[]}).runs.length < 2)
    await new Promise((resolve) => setImmediate(resolve));
  expect((await leave(socket, outcome)).kind).toBe('abort');
  answer.resolve('done');
  expect((await first).status).toBe(200);
  expect((await it.stored()).map(line)).toEqual(['user: "first"', 'root: "done"']);
});

test('a client that leaves before its body is whole starts no run', async () => {
  const it = await site({steps: ['never']});
  const answered = gate<Response>();
  const served = await Served.start(async (request) => {
    const response = await it.handler(request);
    answered.resolve(response);
    return response;
  });
  await using _ = served;
  const socket = served.post('/run', saying('go'));
  socket.write('POST /run HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{');
  await once(socket, 'data');
  socket.destroy();
  expect(await answered.promise).toBeInstanceOf(Response);
  expect([it.model.calls, it.errors]).toEqual([1, []]);
});

test('a body that is cancelled ends the run where a host has no signal', async () => {
  const {tool, begun} = stuck();
  const it = await site({steps: [functionCalls({name: 'wait', args: {}}), 'never'], agent: {tools: [tool]}});
  const response = await it.ask('POST', '/run_sse', saying('go'));
  const reader = response.body!.getReader();
  await reader.read();
  const pending = reader.read();
  await begun;
  await reader.cancel();
  expect(await pending).toEqual({done: true, value: undefined});
  expect(await Promise.all(it.waited)).toMatchObject([{kind: 'return'}]);
  expectValid(await it.stored());
});

test.each(['/run', '/run_sse'])('with onDisconnect: continue, %s goes on when the client leaves', async (path) => {
  const [asked, answer] = [gate(), gate<string>()];
  const it = await site({steps: [() => (asked.resolve(), answer.promise)], onDisconnect: 'continue'});
  const {served, outcome} = await serve(it.handler);
  await using _ = served;
  const socket = served.post(path, saying('go'));
  await asked.promise;
  socket.destroy();
  await once(socket, 'close');
  expect((await it.json('GET', `${SESSION}/runs`)).body).toMatchObject({runs: [{}]});
  answer.resolve('all of it');
  expect((await outcome).kind).toBe('done');
  expect((await it.stored()).map(line)).toEqual(['user: "go"', 'root: "all of it"']);
  expect((await it.json('GET', `${SESSION}/runs`)).body).toEqual({runs: []});
});

test('with onDisconnect: continue, a client attaches again and misses nothing', async () => {
  const [asked, answer] = [gate(), gate<string>()];
  const tools = [new FunctionTool({name: 'f', description: 'F.', execute: () => 1})];
  const it = await site({
    steps: [functionCalls({name: 'f', args: {}}), () => (asked.resolve(), answer.promise)],
    agent: {tools},
    onDisconnect: 'continue',
  });
  const first = (await it.ask('POST', '/run_sse', saying('go'))).body!.getReader();
  const seen = new TextDecoder().decode((await first.read()).value);
  const id = /^id: (.+)$/m.exec(seen)?.[1] ?? '';
  await first.cancel();
  await asked.promise;
  const path = `${SESSION}/run_sse`;
  const rest = await it.ask('GET', path, undefined, {headers: {'last-event-id': id}});
  const all = await it.ask('GET', path);
  answer.resolve('all of it');
  const texts = [await rest.text(), await all.text()];
  const linesOf = (text: string): string[] => text.match(/"(?:functionCall|functionResponse|text)":/g) ?? [];
  expect(linesOf(texts[1]!)).toEqual(['"functionCall":', '"functionResponse":', '"text":']);
  expect([...linesOf(seen), ...linesOf(texts[0]!)]).toEqual(linesOf(texts[1]!));
  const last = [...texts[1]!.matchAll(/^id: (.+)$/gm)].at(-1)?.[1] ?? '';
  expect((await it.ask('GET', path, undefined, {headers: {'last-event-id': last}})).status).toBe(204);
  expect((await it.ask('GET', path, undefined, {headers: {'last-event-id': 'unknown'}})).status).toBe(410);
  expect((await it.ask('GET', '/apps/app/users/v/sessions/s/run_sse')).status).toBe(404);
});

test('with onDisconnect: continue, what fails at once is still a status', async () => {
  const it = await site({onDisconnect: 'continue'});
  expect((await it.ask('POST', '/run_sse', saying('go', {sessionId: 'none'}))).status).toBe(404);
  expect((await it.ask('GET', '/apps/app/users/u/sessions/none/run_sse')).status).toBe(404);
});

test('with onDisconnect: continue, a run goes with its session, and is not there in a new one of the same id', async () => {
  const it = await site({steps: ['my diary', 'another'], onDisconnect: 'continue'});
  const path = `${SESSION}/run_sse`;
  expect(await (await it.ask('POST', '/run_sse', saying('go'))).text()).toContain('my diary');
  expect(await (await it.ask('GET', path)).text()).toContain('my diary');
  expect((await it.json('DELETE', SESSION)).status).toBe(200);
  expect(await it.json('GET', path)).toMatchObject({status: 404, body: {code: 'SESSION_NOT_FOUND'}});
  expect((await it.json('POST', SESSION)).status).toBe(200);
  expect(await it.json('GET', path)).toMatchObject({status: 404, body: {code: 'RUN_NOT_FOUND'}});
  expect(await (await it.ask('POST', '/run_sse', saying('go'))).text()).toContain('another');
  expect(await (await it.ask('GET', path)).text()).toContain('another');
  // Also where it was deleted past the handler.
  await it.sessionService.deleteSession({appName: 'app', userId: 'u', sessionId: 's'});
  expect((await it.json('GET', path)).status).toBe(404);
});

test('with onDisconnect: continue, deleting a session stops the run that a client reads along', async () => {
  const asked = gate();
  const it = await site({steps: [() => (asked.resolve(), new Promise<never>(() => {}))], onDisconnect: 'continue'});
  const started = it.ask('POST', '/run_sse', saying('go'));
  await asked.promise;
  const along = await it.ask('GET', `${SESSION}/run_sse`);
  const read = along.text();
  expect((await it.json('DELETE', SESSION)).status).toBe(200);
  expect(await read).toContain('"code":"RUN_CANCELLED"');
  expect((await started).status).toBe(409);
  expect((await it.ask('GET', `${SESSION}/run_sse`)).status).toBe(404);
});

test('pieces of a reply arrive while it is being made', async () => {
  const [asked, more] = [gate(), gate<never>()];
  const it = await site({
    steps: [
      async function* () {
        yield deltas('first piece', '')[0]!;
        asked.resolve();
        await more.promise;
      },
    ],
  });
  const {served, outcome} = await serve(it.handler);
  await using _ = served;
  const socket = served.post('/run_sse', saying('go', {streaming: true}));
  let text = '';
  while (!text.includes('first piece')) text += String((await once(socket, 'data'))[0]);
  await asked.promise;
  await leave(socket, outcome);
  expect((await it.stored()).map(line)).toEqual(['user: "go"', 'root: "first piece" [stopped]']);
});

test('a client that has left before its request is read starts nothing that stays', async () => {
  const it = await site({steps: ['never', 'never']});
  for (const path of ['/run', '/run_sse']) {
    const response = await it.ask('POST', path, saying('go'), {signal: AbortSignal.abort()}).catch(() => undefined);
    await response?.body?.cancel();
  }
  expect((await Promise.all(it.waited)).every(({kind}) => kind === 'abort' || kind === 'return')).toBe(true);
  expect((await it.json('GET', `${SESSION}/runs`)).body).toEqual({runs: []});
  expect([it.model.calls, it.errors, await it.stored()]).toEqual([0, [], []]);
});
