import {afterEach, beforeEach, describe, expect, test, vi} from 'vitest';

import type {Content} from '../../../lib/content.ts';
import {LiveWatchdog} from '../../../lib/gemini/live/live-watchdog.ts';
import type {BaseLlmConnection} from '../../../lib/models/base-llm-connection.ts';
import {GeminiLiveServer, type LiveServerSession} from '../../../lib/testing/index.ts';
import {liveModelAt, readToEnd, silent} from './connecting.ts';
import {peer} from './peer.ts';

const idle = {code: 'IDLE_TIMEOUT', message: 'The model sent nothing within 60000 ms', retryable: true};
const gone = {code: 'CONNECTION_LOST', message: 'The server did not answer a ping, and sent nothing for 60000 ms', retryable: true};

describe('the watchdog', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  /** What a watchdog of 60 s does, and when, in seconds. */
  function watch(idleMs = 60_000): {readonly dog: LiveWatchdog; readonly did: unknown[]} {
    const began = performance.now();
    const seconds = (): number => Math.round((performance.now() - began) / 1000);
    const did: unknown[] = [];
    const dog = new LiveWatchdog(idleMs, {
      ping: () => void did.push([seconds(), 'ping']),
      give: ({code, message, retryable}) => void did.push([seconds(), {code, message, retryable}]),
    });
    return {dog, did};
  }

  const pass = (seconds: number): Promise<unknown> => vi.advanceTimersByTimeAsync(seconds * 1000);

  test('pings a peer that is silent for half of the time, and gives up one that is silent for all of it', async () => {
    const {dog, did} = watch();
    await pass(50);
    dog.frame();
    await pass(300);
    expect(did).toEqual([
      [30, 'ping'],
      [80, 'ping'],
      [110, gone],
    ]);
    expect(vi.getTimerCount()).toBe(0);
  });

  test('leaves a peer alone that answers its pings, as long as nothing is owed', async () => {
    const {dog, did} = watch();
    for (let at = 0; at < 100; at += 1) {
      await pass(30);
      dog.frame();
    }
    expect(did).toHaveLength(100);
    dog.stop();
    expect(vi.getTimerCount()).toBe(0);
  });

  test('gives up an answer that was asked for and does not come, whatever else the peer does', async () => {
    const {dog, did} = watch();
    await pass(10);
    dog.asked();
    await pass(30);
    dog.frame();
    await pass(20);
    dog.frame();
    await pass(20);
    expect(did).toEqual([
      [30, 'ping'],
      [70, idle],
    ]);
  });

  test('waits as long again after each message, and not when the model owes nothing', async () => {
    const {dog, did} = watch();
    const comes = (owes?: boolean): void => {
      dog.frame();
      dog.message(owes);
    };
    dog.asked();
    await pass(50);
    comes();
    await pass(50);
    comes(true);
    await pass(50);
    comes(false);
    for (let at = 0; at < 10; at += 1) {
      await pass(30);
      dog.frame();
    }
    comes(true);
    await pass(30);
    dog.frame();
    await pass(31);
    expect(did.filter((what) => Array.isArray(what) && what[1] !== 'ping')).toEqual([[510, idle]]);
  });

  test('gives a ping its time that was sent late, after the process was asleep', async () => {
    const {dog, did} = watch();
    vi.setSystemTime(0);
    // The clock goes on; the timers do not.
    const now = performance.now.bind(performance);
    const spy = vi.spyOn(performance, 'now').mockImplementation(() => now() + 3_600_000);
    await pass(30);
    expect(did).toEqual([[3_630, 'ping']]);
    await pass(29);
    expect(did).toHaveLength(1);
    dog.frame();
    await pass(29);
    expect(did).toHaveLength(1);
    spy.mockRestore();
  });

  test('sets one timer however many frames come', async () => {
    const set = vi.spyOn(globalThis, 'setTimeout');
    const {dog} = watch();
    for (let at = 0; at < 1_000; at += 1) {
      dog.frame();
      dog.message(true);
    }
    expect(set).toHaveBeenCalledTimes(1);
    dog.stop();
  });

  test.each([Infinity, 1e12])('of %d ms watches nothing', async (ms) => {
    const {dog, did} = watch(ms);
    dog.asked();
    expect(vi.getTimerCount()).toBe(0);
    await pass(1_000_000);
    expect(did).toEqual([]);
  });
});

describe('a live connection with `idleMs`', () => {
  const user: Content = {role: 'user', parts: [{text: 'hello'}]};
  const answer = (scheduling?: string, willContinue?: boolean): Content => ({
    role: 'user',
    parts: [
      {
        functionResponse: {
          name: 'f',
          response: {},
          ...(scheduling && {scheduling: scheduling as never}),
          ...(willContinue !== undefined && {willContinue}),
        },
      },
    ],
  });
  const turn = (session: LiveServerSession): void => session.say('a');

  interface Case {
    readonly what: string;
    readonly send?: (connection: BaseLlmConnection) => Promise<void>;
    readonly script?: (session: LiveServerSession) => void;
    readonly owed: boolean;
  }

  const cases: readonly Case[] = [
    {what: 'that is only open', owed: false},
    {what: 'to which a turn was sent', send: (connection) => connection.sendContent(user), owed: true},
    {what: 'to which a history was sent', send: (connection) => connection.sendHistory([user]), owed: false},
    {what: 'to which sound was sent', send: (connection) => connection.sendRealtime({text: 'a'}), owed: false},
    {what: 'to which an answer was sent', send: (connection) => connection.sendContent(answer()), owed: true},
    {what: 'to which an answer was sent, INTERRUPT', send: (connection) => connection.sendContent(answer('INTERRUPT')), owed: true},
    {what: 'to which an answer was sent, SILENT', send: (connection) => connection.sendContent(answer('SILENT')), owed: false},
    {what: 'to which an answer was sent, WHEN_IDLE', send: (connection) => connection.sendContent(answer('WHEN_IDLE')), owed: false},
    {what: 'to which an answer was sent that goes on', send: (connection) => connection.sendContent(answer(undefined, true)), owed: false},
    {what: 'in the middle of output', script: turn, owed: true},
    {what: 'after output that is complete', script: (session) => (turn(session), session.completeTurn()), owed: false},
    {what: 'after output that is generated', script: (session) => (turn(session), session.completeGeneration()), owed: false},
    {what: 'after output that was interrupted', script: (session) => (turn(session), session.interrupt()), owed: false},
    {what: 'after a call', script: (session) => (turn(session), void session.toolCall([{name: 'f'}])), owed: false},
  ];

  test.each(cases)('$what waits for the model: $owed', async ({send, script, owed}) => {
    await using server = await GeminiLiveServer.start({strict: false});
    server.session(async (session) => {
      await session.acknowledge();
      script?.(session);
    });
    await using connection = await liveModelAt(server, {idleMs: 100}).connect(silent);
    const session = await server.nextSession();
    await send?.(connection);
    const reading = readToEnd(connection);
    // Three times as long as it takes, if it does.
    if (!owed) void session.delay(300).then(() => session.close(1000, 'still there'));

    const {error} = await reading;

    if (owed) {
      expect(error).toMatchObject({code: 'IDLE_TIMEOUT', message: 'The model sent nothing within 100 ms', retryable: true});
      expect(await session.closed).toMatchObject({early: true, code: 1000});
    } else expect(error).toMatchObject({code: 'CLOSED_1000', message: 'still there'});
  });

  test('loses a server that does not answer a ping', async () => {
    await using server = await GeminiLiveServer.start();
    await using connection = await liveModelAt(server, {idleMs: 100}).connect(silent);
    const session = await server.nextSession();
    session.pauseReading();
    expect((await readToEnd(connection)).error).toMatchObject({code: 'CONNECTION_LOST', retryable: true, closeCode: undefined});
    session.resumeReading();
    expect(await session.closed).toMatchObject({early: true});
  });

  test('stays where the server answers pings, and answers those of the server', async () => {
    const pings: string[] = [];
    const enough = Promise.withResolvers<void>();
    const ponged = Promise.withResolvers<string>();
    await using server = await peer(async ({upgrade}) => {
      const webSocket = await upgrade();
      webSocket.once('message', () => {
        webSocket.send('{"setupComplete": {}}');
        webSocket.ping('mine');
      });
      webSocket.on('ping', () => pings.push('ping') >= 5 && enough.resolve());
      webSocket.on('pong', (data) => ponged.resolve(data.toString()));
    });
    await using connection = await liveModelAt(server, {idleMs: 40}).connect(silent);
    await enough.promise;
    await connection.sendRealtime({text: 'still here'});
    expect(await ponged.promise).toBe('mine');
  });
});
