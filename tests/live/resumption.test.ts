import {afterEach, describe, expect, test, vi} from 'vitest';
import {ModelError} from 'sluice';
import type {LiveServerSession} from 'sluice/testing';
import {idle} from '../stories/kit.ts';
import {answers, expectValidLive, heldTool, liveStage, turn, whole, wire, type LiveReading, type LiveStage} from './kit.ts';

afterEach(() => vi.useRealTimers());

const resumes = ({setup}: LiveServerSession): unknown => setup?.['sessionResumption'];
const history = (...said: readonly (readonly [role: string, text: string])[]): Record<string, unknown> => ({
  clientContent: {turns: said.map(([role, text]) => ({role, parts: [{text}]})), turnComplete: false},
});

/** The model answers what was said, and the reader has it. */
async function reply(session: LiveServerSession, reading: LiveReading, text: string): Promise<void> {
  session.say(text);
  session.completeTurn();
  await reading.until(`root: ${JSON.stringify(text)} [turn complete]`);
}

/** Waits until the run has heard of a handle. */
async function offer(session: LiveServerSession, reading: LiveReading, handle: string, resumable = true): Promise<void> {
  session.offerResumption(handle, resumable);
  await reading.until(({liveSessionResumptionUpdate: it}) => it?.newHandle === handle);
}

/** The next connection, once its setup has come. */
async function connected(it: LiveStage): Promise<LiveServerSession> {
  const session = await it.server.nextSession();
  await session.message('setup');
  return session;
}

/** Lets time pass as fast as the run waits for it, until the run is over. */
async function passTime(reading: LiveReading): LiveReading['end'] {
  for (;;) {
    const end = await Promise.race([reading.end, idle()]);
    if (end) return end;
    if (vi.getTimerCount() > 0) await vi.advanceTimersByTimeAsync(10);
  }
}

// No recording holds a goAway: these frames are made by hand.
describe('a goAway', () => {
  test('while nothing is under way is followed by a new connection at once, from the newest handle', async () => {
    await using it = await liveStage();
    const {session, reading} = await it.talk();
    await reply(session, reading, 'Hello.');
    await offer(session, reading, 'h1');
    await offer(session, reading, 'h2');
    session.goAway('9.5s');
    const second = await connected(it);
    expect(await session.closed).toMatchObject({early: true, code: 1000});
    await it.say('more');
    await second.message('clientContent');
    await it.finish(second, reading);
    expect(resumes(session)).toEqual({});
    expect(resumes(second)).toEqual({handle: 'h2'});
    expect({...second.setup, sessionResumption: {}}).toEqual(session.setup);
    expect(wire(second)).toEqual([turn('more')]);
    expect(reading.lines).toEqual([
      'root: "Hello." [partial]',
      'root: "Hello." [turn complete]',
      'root: [partial, handle h1]',
      'root: [partial, handle h2]',
      'root: [partial, goes in 9.5s]',
      'root: "Bye." [partial]',
      'root: "Bye." [turn complete]',
    ]);
  });

  test('in a turn is followed when the turn is complete', async () => {
    await using it = await liveStage();
    const {session, reading} = await it.talk();
    await offer(session, reading, 'h1');
    session.say('One ');
    session.goAway('60s');
    await reading.until('root: [partial, goes in 60s]');
    session.say('two.');
    await it.received('two.');
    session.completeTurn();
    await it.received('turnComplete');
    expect(it.server.sessions).toHaveLength(1);
    // The handle of the turn comes behind it.
    session.offerResumption('h2');
    const second = await connected(it);
    await it.finish(second, reading);
    expect(resumes(second)).toEqual({handle: 'h2'});
    expect(wire(second)).toEqual([]);
    expect(whole(reading.lines)).toEqual(['root: "One two." [turn complete]', 'root: "Bye." [turn complete]']);
  });

  test('while the user may be speaking is followed when the model has answered', async () => {
    await using it = await liveStage({runConfig: {responseModalities: ['AUDIO']}});
    const reading = it.read();
    await it.queue.sendRealtime({mimeType: 'audio/pcm', data: 'AAAA'});
    const session = await connected(it);
    await session.message('realtimeInput');
    await offer(session, reading, 'h1');
    session.goAway('60s');
    await reading.until('root: [partial, goes in 60s]');
    await it.queue.sendRealtime({mimeType: 'audio/pcm', data: 'BBBB'});
    await session.message('realtimeInput', 1);
    session.transcribeOutput('Yes?');
    session.completeTurn();
    await it.received('turnComplete');
    expect(it.server.sessions).toHaveLength(1);
    session.offerResumption('h2');
    const second = await connected(it);
    it.queue.close();
    await second.message('realtimeInput');
    second.transcribeOutput('Goodbye.');
    second.completeTurn();
    await reading.end;
    expect(resumes(second)).toEqual({handle: 'h2'});
    expect(wire(second)).toEqual([{realtimeInput: {audioStreamEnd: true}}]);
  });

  test('while a tool runs is followed when the model has gone on from its answer', async () => {
    const a = heldTool('a');
    await using it = await liveStage({agent: {tools: [a.tool]}});
    const {session, reading} = await it.talk();
    session.toolCall([{id: '1', name: 'a'}]);
    const call = await a.call();
    await offer(session, reading, 'h1');
    session.goAway('60s');
    await reading.until('root: [partial, goes in 60s]');
    call.end('done');
    await session.message('toolResponse');
    expect(it.server.sessions).toHaveLength(1);
    await reply(session, reading, 'Done.');
    session.offerResumption('h2');
    const second = await connected(it);
    await it.finish(second, reading);
    expect(wire(second)).toEqual([]);
    expect(resumes(second)).toEqual({handle: 'h2'});
  });

  test('in a turn that does not end is followed before its time is up, and what was asked is said again', async () => {
    vi.useFakeTimers({toFake: ['setTimeout', 'clearTimeout']});
    await using it = await liveStage();
    const {session, reading} = await it.talk();
    session.say('A long story, ');
    session.goAway('9.5s');
    await reading.until('root: [partial, goes in 9.5s]');
    await vi.advanceTimersByTimeAsync(8_400);
    for (let turns = 0; turns < 5; turns++) await idle();
    expect(it.server.sessions).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(200);
    const second = await connected(it);
    await second.message('clientContent');
    await it.finish(second, reading);
    expect(wire(second)).toEqual([turn('hi')]);
    expect(whole(reading.lines)).toEqual(['root: "A long story, " [interrupted]', 'root: "Bye." [turn complete]']);
    // The server's time counted for that connection only.
    expect(vi.getTimerCount()).toBe(0);
  });

  test('that every connection sends as its first word ends the run after a bounded number of them', async () => {
    vi.useFakeTimers({toFake: ['setTimeout', 'clearTimeout']});
    await using it = await liveStage();
    for (let count = 0; count < 50; count++) {
      it.server.session(async (session) => {
        await session.acknowledge();
        session.goAway('5s');
      });
    }
    const {error} = await passTime(it.read());
    expect(error).toBeInstanceOf(ModelError);
    expect(error).toMatchObject({code: 'CONNECTION_LOST', message: 'The server ends one connection after the other'});
    expect(it.server.sessions).toHaveLength(6);
  });
});

const losses: readonly [string, (session: LiveServerSession) => void][] = [
  ['without a word', (session) => session.drop()],
  ['with 1000', (session) => session.close(1000)],
  ['with 1001', (session) => session.close(1001, 'Going away.')],
  ['with 1011', (session) => session.close(1011, 'Internal error encountered.')],
  ['with 1012', (session) => session.close(1012, 'Restarting.')],
];

describe('a connection that is lost', () => {
  test.each(losses)('%s is resumed from the newest handle that can be resumed, and told nothing again', async (_, lose) => {
    await using it = await liveStage();
    const {session, reading} = await it.talk();
    await offer(session, reading, 'h1');
    await reply(session, reading, 'Hello.');
    await offer(session, reading, 'h2');
    await offer(session, reading, 'h3', false);
    lose(session);
    const second = await connected(it);
    await it.say('more');
    await second.message('clientContent');
    await it.finish(second, reading);
    expect(resumes(second)).toEqual({handle: 'h2'});
    expect(wire(second)).toEqual([turn('more')]);
    expect(await it.stored()).toEqual(['user: "hi"', 'root: "Hello." [turn complete]', 'user: "more"', 'root: "Bye." [turn complete]']);
  });

  test.each(losses)('%s without a handle is followed by a new session, told what was said', async (_, lose) => {
    const a = heldTool('a');
    await using it = await liveStage({agent: {tools: [a.tool]}});
    const {session, reading} = await it.talk();
    session.toolCall([{id: '1', name: 'a', args: {x: 1}}]);
    (await a.call()).end(7);
    await session.message('toolResponse');
    await reply(session, reading, 'Seven.');
    lose(session);
    const second = await connected(it);
    await it.say('more');
    await second.message('clientContent', 1);
    await it.finish(second, reading);
    expect(resumes(second)).toEqual({});
    expect(wire(second)).toEqual([
      history(
        ['user', 'hi'],
        ['user', '[root] called tool `a` with {"x":1}'],
        ['user', '[root] got from `a`: {"result":7}'],
        ['model', 'Seven.'],
      ),
      turn('more'),
    ]);
  });

  test.each([
    ['with a handle', ['h1']],
    ['without one', []],
  ])('%s is told once more what it has not answered, and exactly once', async (_, handles) => {
    await using it = await liveStage();
    const reading = it.read();
    const session = await connected(it);
    for (const handle of handles) await offer(session, reading, handle);
    await it.say('hi');
    await session.message('clientContent');
    session.say('Half an ans');
    await reading.until('root: "Half an ans" [partial]');
    session.drop();
    const second = await connected(it);
    await second.message('clientContent');
    second.drop();
    const third = await connected(it);
    await third.message('clientContent');
    await reply(third, reading, 'A whole answer.');
    third.drop();
    const fourth = await connected(it);
    await it.say('more');
    await fourth.message('clientContent', 1);
    await it.finish(fourth, reading);
    // What the model had begun to say to it is not told: it says that again.
    expect([second, third].map((it) => wire(it))).toEqual([[turn('hi')], [turn('hi')]]);
    expect(wire(fourth)).toEqual([history(['user', 'hi'], ['model', 'Half an ans'], ['model', 'A whole answer.']), turn('more')]);
    expect(await it.stored()).toEqual([
      'user: "hi"',
      'root: "Half an ans" [interrupted]',
      'root: "A whole answer." [turn complete]',
      'user: "more"',
      'root: "Bye." [turn complete]',
    ]);
    expect((await reading.end).outcome.llmCalls).toBe(3);
  });

  test('is told what was said since its handle, and nothing before', async () => {
    await using it = await liveStage();
    const {session, reading} = await it.talk('one');
    session.together(() => {
      session.say('First.');
      session.completeTurn();
      session.offerResumption('h1');
    });
    await reading.until('root: [partial, handle h1]');
    await it.say('two');
    await session.message('clientContent', 1);
    await reply(session, reading, 'Second.');
    session.drop();
    const second = await connected(it);
    await it.say('three');
    await second.message('clientContent', 1);
    await it.finish(second, reading);
    expect(resumes(second)).toEqual({handle: 'h1'});
    expect(wire(second)).toEqual([history(['user', 'two'], ['model', 'Second.']), turn('three')]);
  });

  test('is not told again what a newer handle knows', async () => {
    await using it = await liveStage();
    const {session, reading} = await it.talk();
    await offer(session, reading, 'h1');
    session.drop();
    const second = await connected(it);
    await it.say('more');
    await second.message('clientContent');
    await it.finish(second, reading);
    expect(wire(second)).toEqual([turn('more')]);
  });

  test('in the last turn, which nothing can be asked again of, ends the run when nothing comes any more', async () => {
    vi.useFakeTimers({toFake: ['setTimeout', 'clearTimeout']});
    await using it = await liveStage({runConfig: {responseModalities: ['AUDIO']}});
    const reading = it.read();
    await it.queue.sendRealtime({mimeType: 'audio/pcm', data: 'AAAA'});
    it.queue.close();
    const session = await connected(it);
    await session.message('realtimeInput', 1);
    await offer(session, reading, 'h1');
    session.transcribeOutput('It is ');
    await reading.until('root: spoke:"It is " [partial]');
    session.drop();
    const {outcome} = await passTime(reading);
    expect(outcome.kind).toBe('done');
    expect(it.server.sessions).toHaveLength(2);
    expect(await it.stored()).toEqual(['root: spoke:"It is " [interrupted]']);
    await it.server.sessions[1]?.closed;
    expect(vi.getTimerCount()).toBe(0);
  });

  test('is told what was said while there was none', async () => {
    vi.useFakeTimers({toFake: ['setTimeout', 'clearTimeout']});
    await using it = await liveStage();
    const {session, reading} = await it.talk();
    await reply(session, reading, 'Hello.');
    await offer(session, reading, 'h1');
    // The first time at once, and then after a while.
    it.server.session((next) => next.drop());
    session.drop();
    await session.closed;
    for (let turns = 0; turns < 5; turns++) await idle();
    await vi.advanceTimersByTimeAsync(1);
    await (
      await it.server.nextSession()
    ).closed;
    for (let turns = 0; turns < 5; turns++) await idle();
    void it.say('Anybody there?');
    void it.queue.sendRealtime({mimeType: 'audio/pcm', data: 'AAAA'});
    for (let turns = 0; turns < 5; turns++) await idle();
    expect(it.server.sessions).toHaveLength(2);
    await vi.advanceTimersByTimeAsync(1_000);
    const third = await connected(it);
    await third.message('realtimeInput');
    await it.finish(third, reading);
    expect(resumes(third)).toEqual({handle: 'h1'});
    expect(wire(third).slice(0, 2)).toEqual([turn('Anybody there?'), {realtimeInput: {audio: {mimeType: 'audio/pcm', data: 'AAAA'}}}]);
  });
});

// livekit/agents #6479
describe('the answer to a call whose connection was lost', () => {
  async function lostCall(
    handles: {readonly before?: readonly string[]; readonly after?: readonly string[]},
    options: Parameters<typeof heldTool>[1] = {},
  ): Promise<{it: LiveStage; reading: LiveReading; answer: (value: unknown) => void; second: LiveServerSession}> {
    const a = heldTool('a', options);
    const it = await liveStage({agent: {tools: [a.tool]}});
    const reading = it.read();
    const session = await connected(it);
    for (const handle of handles.before ?? []) await offer(session, reading, handle);
    await it.say('hi');
    await session.message('clientContent');
    session.toolCall([{id: '1', name: 'a'}]);
    const call = await a.call();
    for (const handle of handles.after ?? []) await offer(session, reading, handle);
    session.drop();
    return {it, reading, answer: call.end, second: await connected(it)};
  }

  test('goes out by its id where the handle is newer than the call', async () => {
    const {it, reading, answer, second} = await lostCall({before: ['h1'], after: ['h2']});
    await using _ = it;
    answer('done');
    await second.message('toolResponse');
    await it.finish(second, reading);
    expect(resumes(second)).toEqual({handle: 'h2'});
    expect(wire(second)).toEqual([answers({id: '1', name: 'a', response: {result: 'done'}})]);
    expect(second.refusal).toBeUndefined();
    expectValidLive(await it.stage.stored());
  });

  test('is told in words where the handle is older than the call', async () => {
    const {it, reading, answer, second} = await lostCall({before: ['h1']});
    await using _ = it;
    await second.message('clientContent');
    answer('done');
    await second.message('clientContent', 1);
    await it.finish(second, reading);
    expect(resumes(second)).toEqual({handle: 'h1'});
    // Asked again, the model would call again: the answer asks.
    expect(wire(second)).toEqual([
      history(['user', 'hi'], ['user', '[root] called tool `a` with {}'], ['user', '[root] still waits for `a`']),
      turn('[root] got from `a`: {"result":"done"}'),
    ]);
    expectValidLive(await it.stage.stored());
  });

  test('is told in words to a new session', async () => {
    const {it, reading, answer, second} = await lostCall({});
    await using _ = it;
    await second.message('clientContent');
    answer('done');
    await second.message('clientContent', 1);
    await it.finish(second, reading);
    // Asked again, the model would call again: the answer asks.
    expect(wire(second)).toEqual([
      history(['user', 'hi'], ['user', '[root] called tool `a` with {}'], ['user', '[root] still waits for `a`']),
      turn('[root] got from `a`: {"result":"done"}'),
    ]);
    expectValidLive(await it.stage.stored());
  });

  test('is told in words where the handle comes from a connection that never knew the call', async () => {
    const {it, reading, answer, second} = await lostCall({before: ['h1']});
    await using _ = it;
    await second.message('clientContent');
    await offer(second, reading, 'h2');
    second.drop();
    const third = await connected(it);
    answer('done');
    await third.message('clientContent');
    await it.finish(third, reading);
    expect(resumes(third)).toEqual({handle: 'h2'});
    expect(wire(third)).toEqual([turn('[root] got from `a`: {"result":"done"}')]);
    expect(third.refusal).toBeUndefined();
  });

  test('goes out again where it was sent and not answered', async () => {
    const {it, reading, answer, second} = await lostCall({after: ['h1']});
    await using _ = it;
    answer('done');
    await second.message('toolResponse');
    await reading.until('root: a={"result":"done"}');
    second.drop();
    const third = await connected(it);
    await third.message('toolResponse');
    await it.finish(third, reading);
    expect(wire(third)).toEqual([answers({id: '1', name: 'a', response: {result: 'done'}})]);
    expectValidLive(await it.stage.stored());
  });

  test('of a stream goes on over the next connection', async () => {
    const {it, reading, answer, second} = await lostCall({after: ['h1']}, {responseScheduling: 'SILENT'});
    await using _ = it;
    answer('done');
    await second.message('toolResponse');
    await it.finish(second, reading);
    expect(wire(second)).toEqual([answers({id: '1', name: 'a', response: {result: 'done'}, scheduling: 'SILENT'})]);
  });
});

describe('no new connection is tried', () => {
  test.each([
    [1007, 'Request contains an invalid argument.'],
    [1008, 'Operation is not implemented, or supported, or enabled.'],
  ])('where the server closes with %i', async (code, reason) => {
    await using it = await liveStage();
    const {session, reading} = await it.talk();
    await offer(session, reading, 'h1');
    session.say('Half an ans');
    session.close(code, reason);
    const {error, outcome} = await reading.end;
    expect(error).toBeInstanceOf(ModelError);
    expect(error).toMatchObject({closeCode: code, message: reason, retryable: false});
    expect(outcome).toMatchObject({kind: 'error', reason: error});
    expect(it.server.sessions).toHaveLength(1);
    expect(it.queue.closed).toBe(true);
    // What was said is not lost.
    expect(await it.stored()).toEqual(['user: "hi"', 'root: "Half an ans" [stopped]']);
  });

  test.each([
    [1007, 'Invalid JSON payload received. Unknown name "foo" at \'setup\': Cannot find field.'],
    [1008, 'Requested entity was not found.'],
    [1011, 'You exceeded your current quota.'],
  ])('where the server refuses the setup with %i', async (code, reason) => {
    await using it = await liveStage();
    it.server.session(async (session) => {
      await session.message('setup');
      session.close(code, reason);
    });
    const {error, outcome} = await it.read().end;
    expect(error).toBeInstanceOf(ModelError);
    expect(error).toMatchObject({closeCode: code, message: reason});
    expect(outcome.kind).toBe('error');
    expect(it.server.sessions).toHaveLength(1);
  });

  test('where the server refuses the handshake', async () => {
    await using it = await liveStage({server: {apiKey: 'another'}});
    const {error} = await it.read().end;
    expect(error).toMatchObject({name: 'ModelError', status: 403, message: 'API key not valid. Please pass a valid API key.'});
    expect(it.server.sessions).toHaveLength(1);
  });
});

describe('the number of connections', () => {
  const times: number[] = [];

  test.each<[string, (session: LiveServerSession) => void | Promise<void>, object]>([
    [
      'after the setup',
      async (session) => {
        await session.acknowledge();
        session.close(1011, `Internal error ${session.index}.`);
      },
      {closeCode: 1011},
    ],
    ['before the setup', (session) => session.drop(), {code: 'CONNECTION_LOST'}],
  ])('of a server that fails each of them %s is bounded, with ever longer waits between', async (_, fail, error) => {
    vi.useFakeTimers({toFake: ['setTimeout', 'clearTimeout', 'Date']});
    times.length = 0;
    await using it = await liveStage();
    for (let count = 0; count < 50; count++) {
      it.server.session((session) => {
        times.push(Date.now());
        return fail(session);
      });
    }
    const end = await passTime(it.read());
    expect(end.error).toBeInstanceOf(ModelError);
    expect(end.error).toMatchObject(error);
    expect(times).toHaveLength(6);
    const waits = times.slice(1).map((time, at) => time - (times[at] ?? 0));
    // The first time at once; then from half a second on, doubled each time, give or take a quarter.
    expect(waits[0]).toBeLessThan(200);
    waits.slice(1).forEach((wait, at) => {
      expect(wait).toBeGreaterThanOrEqual(500 * 2 ** at * 0.75);
      expect(wait).toBeLessThan(500 * 2 ** at * 1.25 + 200);
    });
    await Promise.all(it.server.sessions.map(({closed}) => closed));
    expect(vi.getTimerCount()).toBe(0);
  });

  test('counts anew after a complete turn', async () => {
    vi.useFakeTimers({toFake: ['setTimeout', 'clearTimeout']});
    await using it = await liveStage();
    for (let count = 0; count < 12; count++) {
      it.server.session(async (session) => {
        await session.acknowledge();
        // Every third one answers before it breaks.
        if (count % 3 === 2) {
          session.say(`${count}`);
          session.completeTurn();
        }
        session.drop();
      });
    }
    it.server.session(async (session) => {
      await session.acknowledge();
      session.say('Bye.');
      session.completeTurn();
      it.queue.close();
    });
    const {error} = await passTime(it.read());
    expect(error).toBeUndefined();
    expect(it.server.sessions).toHaveLength(13);
  });
});

test('nothing of one connection is left in the next: no piece of a turn, no transcript, no time to go', async () => {
  vi.useFakeTimers({toFake: ['setTimeout', 'clearTimeout']});
  await using it = await liveStage({runConfig: {responseModalities: ['AUDIO']}});
  const {session, reading} = await it.talk();
  await reply(session, reading, 'Hello.');
  await offer(session, reading, 'h1');
  session.transcribeInput('What ');
  session.transcribeOutput('It is ');
  session.goAway('60s');
  await reading.until('root: [partial, goes in 60s]');
  session.drop();
  await session.closed;
  for (let turns = 0; turns < 5; turns++) await idle();
  await vi.advanceTimersByTimeAsync(1);
  const second = await connected(it);
  second.transcribeInput('Who ');
  second.transcribeOutput('Ada.');
  second.completeTurn();
  await reading.until('root: spoke:"Ada." [turn complete]');
  await vi.advanceTimersByTimeAsync(120_000);
  for (let turns = 0; turns < 5; turns++) await idle();
  expect(it.server.sessions).toHaveLength(2);
  await it.finish(second, reading);
  expect(whole(reading.lines)).toEqual([
    'root: "Hello." [turn complete]',
    'user: heard:"What "',
    'root: spoke:"It is " [interrupted]',
    'user: heard:"Who "',
    'root: spoke:"Ada." [turn complete]',
    'root: "Bye." [turn complete]',
  ]);
  expect(await it.stored()).toEqual(['user: "hi"', ...whole(reading.lines)]);
});

test('what a hook still looks at when its connection is lost belongs to that connection', async () => {
  const looking = Promise.withResolvers<void>();
  await using it = await liveStage({agent: {afterModelCallback: () => looking.promise}});
  const {session, reading} = await it.talk();
  session.say('Half an ans');
  await it.received('Half an ans');
  session.drop();
  await session.closed;
  for (let turns = 0; turns < 5; turns++) await idle();
  looking.resolve();
  const second = await connected(it);
  await second.message('clientContent');
  await reply(second, reading, 'A whole answer.');
  await it.finish(second, reading);
  expect(whole(reading.lines)).toEqual([
    'root: "Half an ans" [interrupted]',
    'root: "A whole answer." [turn complete]',
    'root: "Bye." [turn complete]',
  ]);
});

describe('liveSessionResumptionHandle', () => {
  test('goes on where an earlier run was, which is told nothing', async () => {
    await using it = await liveStage({server: {resumptionHandles: ['earlier']}});
    await it.chat('What was said.');
    const {session, reading} = await it.talk('hi', {liveSessionResumptionHandle: 'earlier'});
    await it.finish(session, reading);
    expect(resumes(session)).toEqual({handle: 'earlier'});
    expect(wire(session)).toEqual([turn('hi')]);
  });

  test('that no server knows ends the run with its words', async () => {
    await using it = await liveStage();
    const {error} = await it.read({liveSessionResumptionHandle: 'unknown'}).end;
    expect(error).toMatchObject({name: 'ModelError', closeCode: 1008, message: 'Requested entity was not found.'});
    expect(it.server.sessions).toHaveLength(1);
  });

  test('is used until the server offers a newer one', async () => {
    await using it = await liveStage({server: {resumptionHandles: ['earlier']}});
    await it.chat('What was said.');
    const {session, reading} = await it.talk('hi', {liveSessionResumptionHandle: 'earlier'});
    await reply(session, reading, 'Hello.');
    session.drop();
    const second = await connected(it);
    await second.message('clientContent');
    expect(wire(second)).toEqual([history(['user', 'hi'], ['model', 'Hello.'])]);
    await offer(second, reading, 'newer');
    second.drop();
    const third = await connected(it);
    await it.finish(third, reading);
    expect([session, second, third].map((it) => resumes(it))).toEqual([{handle: 'earlier'}, {handle: 'earlier'}, {handle: 'newer'}]);
  });
});

describe('sessionResumption', () => {
  test('false asks for no handle and uses none: a new session is told what was said', async () => {
    await using it = await liveStage({runConfig: {sessionResumption: false}});
    const {session, reading} = await it.talk();
    await reply(session, reading, 'Hello.');
    // A server that offers one all the same.
    await offer(session, reading, 'h1');
    session.drop();
    const second = await connected(it);
    await it.say('more');
    await second.message('clientContent', 1);
    await it.finish(second, reading);
    expect(session.setup).not.toHaveProperty('sessionResumption');
    expect(second.setup).not.toHaveProperty('sessionResumption');
    expect(wire(second)).toEqual([history(['user', 'hi'], ['model', 'Hello.']), turn('more')]);
  });

  test('false and a handle to resume from is an error', async () => {
    await using it = await liveStage({runConfig: {sessionResumption: false}});
    const {error} = await it.read({liveSessionResumptionHandle: 'h'}).end;
    expect(error).toMatchObject({
      code: 'INVALID_OPTION',
      message: 'Expected `request.liveSessionResumptionHandle` to be left out, as runConfig.sessionResumption is false, got "h" (string)',
    });
    expect(it.server.sessions).toEqual([]);
  });
});
