// What a stop leaves behind in a process whose clock is the real one: nothing, so that it ends by itself.
import {spawn} from 'node:child_process';
import {once} from 'node:events';
import {text} from 'node:stream/consumers';
import {fileURLToPath} from 'node:url';
import {describe, expect, test} from 'vitest';
import {RunTimeoutError, type Run} from 'sluice';
import {answer, calls, chunks, failure, GeminiServer, ToolService, type GeminiReplySource} from 'sluice/testing';
import {modelAt} from '../reports/wired.ts';
import {expectNoListeners, expectValid, stage, type Stage} from '../stories/kit.ts';
import {fetching, turns, until} from './stop-scene.ts';

const stalled = (): GeminiReplySource => chunks(['one', ' two'], {fault: {kind: 'stall', after: 1}});
const unused = answer('unused');

/** Starts a program that leaves a run, and gives what it prints once it has ended by itself. */
async function leave(what: string, server: GeminiServer, service: ToolService, isThere: () => Promise<unknown>): Promise<string> {
  const program = fileURLToPath(new URL('children/leave.ts', import.meta.url));
  const child = spawn(process.execPath, ['--no-warnings', program, what, server.url, service.url], {stdio: ['pipe', 'pipe', 'inherit']});
  const output = text(child.stdout);
  const ended = once(child, 'close');
  // It may have left already.
  child.stdin.on('error', () => {});
  try {
    await isThere();
    child.stdin.write('leave\n');
    const [code] = (await ended) as [number];
    return `${(await output).trim()}, exit code ${code}`;
  } finally {
    child.kill('SIGKILL');
  }
}

describe('a process that leaves a run', () => {
  // Each of these would hold it much longer than that: a back-off of 25 s, a tool of 60 s, a stream that does not end.
  const boundMs = 18_000;

  test('by break in mid stream ends by itself', async () => {
    await using server = await GeminiServer.start({replies: [stalled()]});
    await using service = await ToolService.start();
    const started = performance.now();
    expect(await leave('break', server, service, async () => (await server.nextRequest()).closed)).toBe('return, exit code 0');
    expect(performance.now() - started).toBeLessThan(boundMs);
    expect(server.requests.map(({closedEarly}) => closedEarly)).toEqual([true]);
  });

  test('during a back-off ends by itself', async () => {
    await using server = await GeminiServer.start({replies: [failure({code: 429, retryDelay: '25s'}), unused]});
    await using service = await ToolService.start();
    const started = performance.now();
    expect(await leave('back-off', server, service, async () => (await server.nextRequest()).closed)).toBe('return, exit code 0');
    expect(performance.now() - started).toBeLessThan(boundMs);
    expect(server.requests).toHaveLength(1);
  });

  test('while a tool waits for a service ends by itself', async () => {
    await using server = await GeminiServer.start({replies: [calls([{name: 'look_up'}]), unused]});
    await using service = await ToolService.start({delayMs: 60_000});
    const started = performance.now();
    expect(await leave('tools', server, service, () => service.nextRequest())).toBe('return, exit code 0');
    expect(performance.now() - started).toBeLessThan(boundMs);
    expect(service.requests.map(({closedEarly}) => closedEarly)).toEqual([true]);
    expect(server.requests).toHaveLength(1);
  });
});

describe('nothing holds the process after', () => {
  const stops: Record<string, (run: Run, it: Stage, stop: AbortController) => unknown> = {
    'an abort': (_run, _it, stop) => stop.abort(),
    'return()': (run) => run.return(),
    'cancel()': (_run, it) => it.runner.cancel({userId: 'u', sessionId: 's'}),
    'close()': (_run, it) => it.runner.close({timeoutMs: 0}),
  };
  const moments: Record<string, {replies: readonly GeminiReplySource[]; reached: (server: GeminiServer, service: ToolService) => Promise<unknown>}> = {
    'in mid stream': {replies: [stalled()], reached: (server) => server.nextRequest()},
    'during a back-off': {replies: [failure({code: 503}), unused], reached: async (server) => (await server.nextRequest()).closed},
    'while tools run': {replies: [calls([{name: 'a'}, {name: 'b'}]), unused], reached: (_server, service) => service.nextRequest()},
  };

  test.each(Object.keys(stops).flatMap((how) => Object.keys(moments).map((when) => [how, when] as const)))('%s %s', async (how, when) => {
    const {replies, reached} = moments[when]!;
    // All that holds this process: its servers, and what the test runner itself has set up.
    const holding = (what: RegExp): number => process.getActiveResourcesInfo().filter((it) => what.test(it)).length;
    const [timers, sockets] = [holding(/Timeout/), holding(/TCP/)];
    {
      await using server = await GeminiServer.start({replies});
      await using service = await ToolService.start({delayMs: 60_000});
      const tools = [fetching(service, 'a'), fetching(service, 'b')];
      const it = await stage({agent: {model: modelAt(server, {retryDelayMs: 25_000}), tools}});
      const stop = new AbortController();
      const run = it.run('go', {abortSignal: stop.signal});
      const reading = (async () => {
        for await (const _ of run);
      })().catch(() => {});
      await reached(server, service);
      await turns();
      expect(holding(/Timeout/)).toBeGreaterThan(timers);
      await stops[how]!(run, it, stop);
      await reading;
      expect(await run.settled).toMatchObject({kind: how === 'return()' ? 'return' : 'abort'});
      expectNoListeners(stop.signal);
      expectValid(await it.stored());
      // A socket that was closed goes by turns of the event loop.
      await until(() => holding(/Timeout/) <= timers);
    }
    await until(() => holding(/TCP/) <= sockets);
  });
});

test('a short deadline on the real clock ends a run that nobody reads any more', async () => {
  await using server = await GeminiServer.start({replies: [stalled()]});
  const it = await stage({agent: {model: modelAt(server)}});
  const run = it.run('go', {runConfig: {timeoutMs: 150, streamingMode: 'sse'}});
  await run.next().catch(() => {});
  expect(await run.settled).toMatchObject({kind: 'timeout', reason: expect.any(RunTimeoutError)});
  for (const request of server.requests) expect((await request.closed).early).toBe(true);
  expectValid(await it.stored());
});
