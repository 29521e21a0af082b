// What a live run leaves behind in a process whose clock is the real one: nothing, so that it ends by itself.
import {execFile, spawn} from 'node:child_process';
import {once} from 'node:events';
import {fileURLToPath} from 'node:url';
import {promisify} from 'node:util';
import {describe, expect, test} from 'vitest';
import {GeminiLiveServer, ToolService, type LiveScript} from 'sluice/testing';
import {heard} from './stop-moments.ts';

const file = (name: string): string => fileURLToPath(new URL(`stop-children/${name}.ts`, import.meta.url));
const argumentsOf = (name: string): string[] => ['--no-warnings', '--import', file('sources'), file(name)];

const speaking = heard((session) => session.say('one'));
const calling = heard((session) => void session.toolCall([{name: 'look_up'}]));

interface Left {
  /** How the run ended, as the program has it. */
  readonly kind: string;
  readonly code: number | null;
  /** Milliseconds from that word to the end of the process. */
  readonly ms: number;
}

interface LeaveOptions {
  readonly how: string;
  readonly script: LiveScript;
  /** When it is to leave. Default: by itself. */
  readonly isThere?: (server: GeminiLiveServer, service: ToolService) => Promise<unknown>;
  readonly timeoutMs?: number;
}

/** Starts a program that leaves a live run, and waits until it has ended by itself. */
async function leave({how, script, isThere, timeoutMs = 600_000}: LeaveOptions): Promise<Left> {
  await using server = await GeminiLiveServer.start({sessions: [script]});
  await using service = await ToolService.start({delayMs: 60_000});
  const child = spawn(process.execPath, [...argumentsOf('leave'), how, server.url, service.url, String(timeoutMs)], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  // It may have left already.
  child.stdin.on('error', () => {});
  try {
    const ended = once(child, 'close');
    // A program that fails says nothing.
    const told = Promise.any([once(child.stdout, 'data'), ended.then(([code]) => [`exit code ${String(code)}`])]);
    await isThere?.(server, service);
    child.stdin.write('leave\n');
    const [word] = (await told) as [Buffer | string];
    const toldAt = performance.now();
    const [code] = (await ended) as [number | null];
    const ms = performance.now() - toldAt;
    for (const {closed} of [...server.sessions, ...service.requests]) expect((await closed).early).toBe(true);
    expect(server.sessions).toHaveLength(1);
    return {kind: word.toString().trim(), code, ms};
  } finally {
    child.kill('SIGKILL');
  }
}

describe('a process that leaves a live run', () => {
  // Each of these would hold it much longer than that: a tool of 60 s, a connection that does not end.
  const soon = expect.toSatisfy((ms: number) => ms < 10_000);
  const isTalking = async (server: GeminiLiveServer): Promise<unknown> => (await server.nextSession()).message('clientContent');

  test('by break in mid turn ends by itself', async () => {
    expect(await leave({how: 'break', script: speaking})).toEqual({kind: 'return', code: 0, ms: soon});
  });

  test.each([
    ['return', 'return'],
    ['abort', 'abort'],
    ['throw', 'abort'],
    ['cancel', 'abort'],
    ['close', 'abort'],
  ])('by %s in mid turn ends by itself', async (how, kind) => {
    expect(await leave({how, script: speaking, isThere: isTalking})).toEqual({kind, code: 0, ms: soon});
  });

  test('while a tool waits for a service ends by itself', async () => {
    const isThere = (_: unknown, service: ToolService): Promise<unknown> => service.nextRequest();
    expect(await leave({how: 'return', script: calling, isThere})).toEqual({kind: 'return', code: 0, ms: soon});
  });

  test('while the setup is not answered ends by itself', async () => {
    const isThere = async (server: GeminiLiveServer): Promise<unknown> => (await server.nextSession()).message('setup');
    expect(await leave({how: 'abort', script: ['setup'], isThere})).toEqual({kind: 'abort', code: 0, ms: soon});
  });

  test.each([
    ['in mid turn', speaking],
    ['while a tool runs', calling],
  ])('by dropping its iterator %s ends by itself when the time of the run is up', async (_, script) => {
    expect(await leave({how: 'drop', script, timeoutMs: 1_500})).toEqual({kind: 'timeout', code: 0, ms: soon});
  });
});

test('nothing holds a process after a live run was stopped, in any way at any moment', async () => {
  const {stdout} = await promisify(execFile)(process.execPath, argumentsOf('leftovers'), {timeout: 50_000});
  const lines = stdout.trim().split('\n');
  const kinds = {abort: 'abort', return: 'return', throw: 'abort', cancel: 'abort', close: 'abort'};
  const moments = ['before the handshake', 'before the setup', 'in mid turn', 'during a back-off', 'while a tool runs'];
  expect(lines.map((line) => JSON.parse(line) as Record<string, unknown>)).toEqual([
    ...Object.entries(kinds).flatMap(([how, kind]) => moments.map((when) => ({how, when, kind, during: true, after: []}))),
    {connections: 25, requests: 5},
  ]);
}, 60_000);
