import {Timers} from '../../lib/async/timers.ts';
import {getEventListeners} from 'node:events';
import {afterEach, beforeEach, describe, expect, test, vi} from 'vitest';
import {InvalidOptionError, SessionBusyError} from '../../lib/errors.ts';
import {type AcquireOptions, acquireSession, sessionQueueOf, type WaitTimers} from '../../lib/sessions/session-queue.ts';

const key = {appName: 'demo', userId: 'ada', sessionId: 's'};

/** Counts the timers that live, and fires them by hand. */
class ManualTimers implements WaitTimers {
  readonly live = new Map<() => void, number>();

  set(ms: number, callback: () => void): () => void {
    this.live.set(callback, ms);
    return () => this.live.delete(callback);
  }

  fire(): void {
    const due = Array.from(this.live.keys());
    this.live.clear();
    for (const callback of due) callback();
  }
}

let service: object;
let timers: ManualTimers;
let stop: AbortController;
let log: string[];

beforeEach(() => {
  service = {};
  timers = new ManualTimers();
  stop = new AbortController();
  log = [];
});

function acquire(holder: string, options: Partial<AcquireOptions> = {}): Promise<() => void> {
  return acquireSession(service, key, {holder, waitMs: 1_000, abortSignal: stop.signal, timers, ...options});
}

/** Acquires, and notes when the place came, or what came instead. */
function join(holder: string, options: Partial<AcquireOptions> = {}): Promise<(() => void) | undefined> {
  return acquire(holder, options).then(
    (release) => {
      log.push(holder);
      return release;
    },
    (error: unknown) => {
      log.push(`${holder}: ${error instanceof SessionBusyError ? `busy with ${error.holder}` : String(error)}`);
      return undefined;
    },
  );
}

/** Lets everything that is ready run. */
const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

function expectNothingLeft(): void {
  expect(sessionQueueOf(service).size).toBe(0);
  expect(timers.live.size).toBe(0);
  expect(getEventListeners(stop.signal, 'abort')).toEqual([]);
}

describe('a free session', () => {
  test('is taken at once, without timer and listener, and leaves nothing behind', async () => {
    const release = await acquire('one');
    expect(timers.live.size).toBe(0);
    expect(getEventListeners(stop.signal, 'abort')).toEqual([]);
    expect(sessionQueueOf(service).size).toBe(1);
    release();
    expectNothingLeft();
  });

  test('is held in the same tick in which it is asked for', async () => {
    const first = acquire('one');
    const second = acquire('two', {waitMs: 0});
    await expect(second).rejects.toThrow(SessionBusyError);
    (await first)();
  });

  test('is not taken by an aborted signal, whose reason is thrown as it is', async () => {
    for (const reason of [new Error('stop'), 'a string', {code: 7}, null]) {
      const aborted = AbortSignal.abort(reason);
      const error: unknown = await acquire('one', {abortSignal: aborted}).catch((thrown: unknown) => thrown);
      expect(error).toBe(reason);
      expect(getEventListeners(aborted, 'abort')).toEqual([]);
    }
    expectNothingLeft();
  });

  test('of another key or another service is not held up', async () => {
    const releases = [
      await acquire('one'),
      await acquireSession(service, {...key, userId: 'bob'}, {holder: 'two', waitMs: 0, abortSignal: stop.signal, timers}),
      await acquireSession(service, {...key, sessionId: 't'}, {holder: 'three', waitMs: 0, abortSignal: stop.signal, timers}),
      await acquireSession(
        service,
        {appName: 'demo', userId: 'ada","s', sessionId: ''},
        {holder: 'four', waitMs: 0, abortSignal: stop.signal, timers},
      ),
      await acquireSession({}, key, {holder: 'five', waitMs: 0, abortSignal: stop.signal, timers}),
    ];
    expect(sessionQueueOf(service).size).toBe(4);
    for (const release of releases) release();
    expectNothingLeft();
  });
});

describe('a held session', () => {
  test('is handed on in the order of arrival, one at a time', async () => {
    const release = await acquire('one');
    const waiting = ['two', 'three', 'four'].map((holder) => join(holder));
    await settle();
    expect([log, timers.live.size]).toEqual([[], 3]);
    release();
    await settle();
    expect([log, timers.live.size]).toEqual([['two'], 2]);
    (await waiting[0])!();
    await settle();
    expect(log).toEqual(['two', 'three']);
    (await waiting[1])!();
    (await waiting[2])!();
    expect(log).toEqual(['two', 'three', 'four']);
    expectNothingLeft();
  });

  test('is not overtaken: who comes at the moment of the release stands behind who waits', async () => {
    const release = await acquire('one');
    const second = join('two');
    release();
    const third = join('three');
    await settle();
    expect(log).toEqual(['two']);
    (await second)!();
    (await third)!();
    expect(log).toEqual(['two', 'three']);
    expectNothingLeft();
  });

  test('is released once, however often release is called', async () => {
    const release = await acquire('one');
    const second = join('two');
    const third = join('three');
    release();
    release();
    await settle();
    release();
    await settle();
    expect(log).toEqual(['two']);
    (await second)!();
    (await third)!();
    release();
    expectNothingLeft();
  });

  test('is waited for no longer than waitMs; the error names who holds it by then', async () => {
    const release = await acquire('one');
    const second = join('two');
    const third = acquire('three', {waitMs: 70});
    expect([...timers.live.values()]).toEqual([1_000, 70]);
    release();
    await settle();
    timers.fire();
    const error: unknown = await third.catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(SessionBusyError);
    expect(error).toMatchObject({code: 'SESSION_BUSY', holder: 'two', message: 'Session `s` is held by run `two`; waited 70 ms'});
    (await second)!();
    expectNothingLeft();
  });

  test('is not waited for at all with waitMs 0', async () => {
    const release = await acquire('one');
    await expect(acquire('two', {waitMs: 0})).rejects.toMatchObject({code: 'SESSION_BUSY', holder: 'one'});
    expect(timers.live.size).toBe(0);
    release();
    expectNothingLeft();
  });

  test.each([2_147_483_648, Number.MAX_SAFE_INTEGER, Infinity])('is waited for without a timer where waitMs is %d', async (waitMs) => {
    const release = await acquire('one');
    const second = join('two', {waitMs});
    expect(timers.live.size).toBe(0);
    release();
    (await second)!();
    expect(log).toEqual(['two']);
    expectNothingLeft();
  });

  test("is left at once by an abort, with the signal's reason, and the others move up", async () => {
    const release = await acquire('one');
    const other = new AbortController();
    const second = join('two', {abortSignal: other.signal});
    const third = join('three');
    other.abort('two gives up');
    await settle();
    expect([log, timers.live.size, getEventListeners(other.signal, 'abort')]).toEqual([['two: two gives up'], 1, []]);
    release();
    (await third)!();
    expect([log, await second]).toEqual([['two: two gives up', 'three'], undefined]);
    expectNothingLeft();
  });

  test('is not given to anyone when all who wait have left', async () => {
    const release = await acquire('one');
    const waiting = Array.from({length: 50}, (_, index) => join(`w${index}`));
    expect(getEventListeners(stop.signal, 'abort')).toHaveLength(50);
    stop.abort(new Error('all out'));
    await Promise.all(waiting);
    expect(log).toEqual(waiting.map((_, index) => `w${index}: Error: all out`));
    release();
    expectNothingLeft();
  });

  test('stays held by who got it before its signal fired', async () => {
    const release = await acquire('one');
    const second = join('two');
    release();
    stop.abort('too late');
    (await second)!();
    expect(log).toEqual(['two']);
    expectNothingLeft();
  });

  test('that is asked for by its own holder ends in an error and not in a hang', async () => {
    const release = await acquire('one');
    const nested = acquire('nested');
    timers.fire();
    await expect(nested).rejects.toMatchObject({code: 'SESSION_BUSY', holder: 'one'});
    release();
    expectNothingLeft();
  });
});

describe('an exclusive holder', () => {
  test('makes others fail at once', async () => {
    const release = await acquire('live', {exclusive: true});
    await expect(acquire('two')).rejects.toMatchObject({
      code: 'SESSION_BUSY',
      holder: 'live',
      message: expect.stringContaining('waited 0 ms') as string,
    });
    await expect(acquire('three', {exclusive: true})).rejects.toMatchObject({holder: 'live'});
    expect(timers.live.size).toBe(0);
    release();
    (await acquire('four'))();
    expectNothingLeft();
  });

  test('waits for its turn, and then those behind it fail', async () => {
    const release = await acquire('one');
    const second = join('two');
    const live = join('live', {exclusive: true});
    const fourth = join('four');
    const fifth = join('five', {exclusive: true});
    release();
    await settle();
    expect(log).toEqual(['two']);
    (await second)!();
    await Promise.all([live, fourth, fifth]);
    expect(log).toEqual(['two', 'live', 'four: busy with live', 'five: busy with live']);
    (await live)!();
    expectNothingLeft();
  });
});

test.each([-1, Number.NaN, '5', undefined, null])('a waitMs of %s is refused', async (waitMs) => {
  await expect(acquire('one', {waitMs: waitMs as number})).rejects.toThrow(InvalidOptionError);
  expectNothingLeft();
});

describe("with the host's own timers", () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  test('a wait arms one timer and takes it along', async () => {
    const options = {holder: 'one', waitMs: 500, abortSignal: stop.signal, timers: new Timers()};
    const release = await acquireSession(service, key, options);
    expect(vi.getTimerCount()).toBe(0);
    const late = acquireSession(service, key, {...options, holder: 'two'});
    const caught = late.catch((thrown: unknown) => thrown);
    expect(vi.getTimerCount()).toBe(1);
    await vi.advanceTimersByTimeAsync(499);
    expect(vi.getTimerCount()).toBe(1);
    await vi.advanceTimersByTimeAsync(1);
    expect(await caught).toMatchObject({message: 'Session `s` is held by run `one`; waited 500 ms'});
    const next = acquireSession(service, key, {...options, holder: 'three'});
    release();
    (await next)();
    expect(vi.getTimerCount()).toBe(0);
    expectNothingLeft();
  });
});
