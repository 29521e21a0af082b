// What a stop leaves behind in a process whose clock is the real one: nothing, so that it ends by itself.
import {execFile, spawn} from 'node:child_process';
import {once} from 'node:events';
import {text} from 'node:stream/consumers';
import {fileURLToPath} from 'node:url';
import {promisify} from 'node:util';
import {describe, expect, test} from 'vitest';
import {RunTimeoutError} from 'sluice';
import {answer, calls, chunks, failure, GeminiServer, ToolService, type GeminiReplySource} from 'sluice/testing';
import {modelAt} from '../reports/wired.ts';
import {expectValid, stage} from '../stories/kit.ts';

const stalled = (): GeminiReplySource => chunks(['one', ' two'], {fault: {kind: 'stall', after: 1}});
const unused = answer('unused');

const program = (name: string): string => fileURLToPath(new URL(`children/${name}.ts`, import.meta.url));

/** What a program prints that ends by itself. */
async function runToItsEnd(name: string): Promise<string> {
  const {stdout} = await promisify(execFile)(process.execPath, ['--no-warnings', program(name)], {timeout: 50_000});
  return stdout.trim();
}

/** Starts a program that leaves a run, and gives what it prints once it has ended by itself. */
async function leave(what: string, server: GeminiServer, service: ToolService, isThere: () => Promise<unknown>): Promise<string> {
  const child = spawn(process.execPath, ['--no-warnings', program('leave'), what, server.url, service.url], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
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

test('nothing holds a process after a run was stopped, in any way at any moment', async () => {
  const lines = (await runToItsEnd('leftovers')).split('\n').map((it) => JSON.parse(it) as Record<string, unknown>);
  const kinds = {abort: 'abort', return: 'return', throw: 'abort', cancel: 'abort', close: 'abort'};
  const moments = ['before the headers', 'in mid stream', 'during a back-off', 'while a tool runs'];
  expect(lines).toEqual([
    ...Object.entries(kinds).flatMap(([how, kind]) => moments.map((when) => ({how, when, kind, during: true, after: 0}))),
    {requests: [20, 5]},
  ]);
}, 60_000);

test('a short deadline on the real clock ends a run that nobody reads any more', async () => {
  await using server = await GeminiServer.start({replies: [stalled()]});
  const it = await stage({agent: {model: modelAt(server)}});
  const run = it.run('go', {runConfig: {timeoutMs: 150, streamingMode: 'sse'}});
  await run.next().catch(() => {});
  expect(await run.settled).toMatchObject({kind: 'timeout', reason: expect.any(RunTimeoutError)});
  for (const request of server.requests) expect((await request.closed).early).toBe(true);
  expectValid(await it.stored());
});
