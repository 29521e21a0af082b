import {execFileSync} from 'node:child_process';
import {mkdtempSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {dirname, join} from 'node:path';
import {setTimeout as pause} from 'node:timers/promises';
import {afterEach, describe, expect, test, vi} from 'vitest';
import {WorkerPool} from 'sluice/workers';
import {Lifetime} from '../../lib/async/lifetime.ts';
import {idle} from '../stories/kit.ts';
import {call, flag} from './kit.ts';

const pools: WorkerPool[] = [];
function pool(options: ConstructorParameters<typeof WorkerPool>[0] = {}): WorkerPool {
  const made = new WorkerPool(options);
  pools.push(made);
  return made;
}
afterEach(async () => {
  await Promise.all(pools.splice(0).map((it) => it.close()));
});

describe('threads', () => {
  test('are started by the first call, kept for the next, and end when they have been idle', async () => {
    const it = pool({idleMs: 50});
    expect(it.threads).toBe(0);
    const first = await call(it, 'thread');
    expect([await call(it, 'thread'), it.threads]).toEqual([first, 1]);
    await vi.waitUntil(() => it.threads === 0);
    expect(await call(it, 'thread')).not.toEqual(first);
  });

  test('are never more than the bound, however many calls block and however many of them are stopped', async () => {
    const it = pool({maxThreads: 3});
    const life = new Lifetime();
    let most = 0;
    const watching = setInterval(() => (most = Math.max(most, it.threads)), 0);
    const calls = Array.from({length: 200}, (_, n) => {
      const own = life.child();
      if (n % 10 === 3) setTimeout(() => own.end('stopped'), n);
      return call(it, 'block', {args: {ms: n % 10 === 3 ? 60_000 : 5}, life: own}).catch((error: unknown) => error);
    });
    const results = await Promise.all(calls);
    clearInterval(watching);
    expect(most).toBe(3);
    expect(results.filter((result) => result === 'stopped' || result === undefined)).toHaveLength(20);
    expect(results.filter((result) => typeof result === 'number')).toHaveLength(180);
  });

  test('that are told to end count until they have, also for calls that come at once', async () => {
    const it = pool({maxThreads: 2});
    const path = join(mkdtempSync(join(tmpdir(), 'pipe-')), 'pipe');
    execFileSync('mkfifo', [path]);
    const life = new Lifetime();
    const {flag: reading, reached} = flag();
    const stopped = call(it, 'readPipe', {args: {path, flag: reading}, life}).catch((error: unknown) => error);
    await reached();
    life.end('enough');
    expect([await stopped, it.threads]).toEqual(['enough', 1]);
    const [started, go] = [flag(), flag()];
    const calls = [1, 2].map(() => call(it, 'blockUntil', {args: {started: started.flag, go: go.flag}}));
    await started.reached();
    expect(it.threads).toBe(2);
    writeFileSync(path, 'go on');
    await started.reached(2);
    expect(it.threads).toBe(2);
    Atomics.store(go.flag, 0, 1);
    Atomics.notify(go.flag, 0);
    await Promise.all(calls);
    rmSync(dirname(path), {recursive: true});
  });

  test('that overlap let blocking calls run at the same time', async () => {
    const [started, go] = [flag(), flag()];
    const it = pool();
    const calls = Array.from({length: 8}, () => call(it, 'blockUntil', {args: {started: started.flag, go: go.flag}}));
    await started.reached(8);
    Atomics.store(go.flag, 0, 1);
    Atomics.notify(go.flag, 0);
    expect(new Set((await Promise.all(calls)).map((it_) => JSON.stringify(it_))).size).toBe(8);
  });

  test('that a body breaks after its end are replaced, and the process is warned', async () => {
    const warned = vi.spyOn(process, 'emitWarning').mockImplementation(() => {});
    const it = pool({maxThreads: 1});
    const {flag: left, reached} = flag();
    const first = await call(it, 'thread');
    await call(it, 'failLater', {args: {flag: left}});
    await reached();
    await vi.waitUntil(() => warned.mock.calls.length > 0);
    expect(String(warned.mock.calls[0]?.[0])).toContain('left behind');
    expect(await call(it, 'thread')).not.toEqual(first);
    warned.mockRestore();
  });

  test('that a body holds up after its end lose no call, and end with close', async () => {
    const it = pool({maxThreads: 1});
    for (const next of [() => call(it, 'echo'), () => it.close()]) {
      const {flag: spinning, reached} = flag();
      expect(await call(it, 'spinLater', {args: {flag: spinning}})).toBeUndefined();
      await reached();
      await next();
    }
    expect(it.threads).toBe(0);
  });

  test('hear nothing of what a body sends to its parent', async () => {
    const it = pool({maxThreads: 1});
    const first = await call(it, 'thread');
    expect([await call(it, 'post'), await call(it, 'thread')]).toEqual(['posted', first]);
  });

  test('end with close, at once or when their calls have, and a later call starts one anew', async () => {
    const it = pool();
    await call(it, 'thread');
    await it.close();
    expect(it.threads).toBe(0);
    const [started, go] = [flag(), flag()];
    const running = call(it, 'blockUntil', {args: {started: started.flag, go: go.flag}});
    await vi.waitUntil(() => it.threads === 1);
    // Also of a thread that is still starting, for a call that waits for it.
    await it.close();
    await started.reached();
    Atomics.store(go.flag, 0, 1);
    Atomics.notify(go.flag, 0);
    await running;
    await vi.waitUntil(() => it.threads === 0);
    expect(await call(it, 'echo', {args: {n: 1}})).toEqual({n: 1});
  });
});

describe('a stop', () => {
  test('terminates a busy loop within 100 ms, and the thread is replaced', async () => {
    const it = pool({maxThreads: 1});
    const times: number[] = [];
    for (let time = 0; time < 3; time++) {
      const life = new Lifetime();
      const {flag: spinning, reached} = flag();
      const calling = call(it, 'spin', {args: {flag: spinning}, life, graceMs: 5_000}).catch((error: unknown) => error);
      await reached();
      const start = performance.now();
      life.end('enough');
      expect(await calling).toBe('enough');
      while (it.threads > 0) await idle();
      times.push(performance.now() - start);
    }
    expect(await call(it, 'echo', {args: {n: 1}})).toEqual({n: 1});
    // The quickest: a machine that is busy with other tests takes its time.
    expect(Math.min(...times)).toBeLessThan(100);
  });

  test('is heard by the body, whose value within the grace still counts, and whose thread lives on', async () => {
    const it = pool({maxThreads: 1});
    const life = new Lifetime();
    const {flag: waiting, reached} = flag();
    const before = await call(it, 'thread');
    const calling = call(it, 'untilAborted', {args: {flag: waiting}, life, graceMs: 5_000});
    await reached();
    life.end('enough');
    expect(await calling).toBe('stopped by enough');
    expect(await call(it, 'thread')).toEqual(before);
  });

  test('terminates what hears and goes on, with the grace', async () => {
    const it = pool({maxThreads: 1});
    const life = new Lifetime();
    const {flag: waiting, reached} = flag();
    const before = await call(it, 'thread');
    const calling = call(it, 'deaf', {args: {flag: waiting}, life, graceMs: 60}).catch((error: unknown) => error);
    await reached();
    life.end('enough');
    expect(await calling).toBe('enough');
    expect(await call(it, 'thread')).not.toEqual(before);
  });

  test('takes a call out of the queue at once, and one that comes later does not even enter', async () => {
    const it = pool({maxThreads: 1});
    const [started, go] = [flag(), flag()];
    const running = call(it, 'blockUntil', {args: {started: started.flag, go: go.flag}});
    const life = new Lifetime();
    const queued = it.enter(life);
    await started.reached();
    life.end('enough');
    expect([await queued, await it.enter(life)]).toEqual([undefined, undefined]);
    Atomics.store(go.flag, 0, 1);
    Atomics.notify(go.flag, 0);
    await running;
  });

  test('while the thread starts keeps the body from running', async () => {
    const it = pool({maxThreads: 1});
    const life = new Lifetime();
    const {flag: never, reached: _reached} = flag();
    const calling = call(it, 'block', {args: {flag: never}, life}).catch((error: unknown) => error);
    await Promise.resolve();
    await pause(1);
    life.end('enough');
    // Not even a place: the dispatch tells the model that it has not started.
    expect(await calling).toBeUndefined();
    await call(it, 'echo');
    expect(Atomics.load(never, 0)).toBe(0);
  });

  test('whose reason cannot be cloned says what it says', async () => {
    const it = pool();
    const life = new Lifetime();
    const {flag: waiting, reached} = flag();
    const calling = call(it, 'untilAborted', {args: {flag: waiting}, life, graceMs: 5_000});
    await reached();
    life.end(Object.assign(new Error('because'), {retry: () => {}, toJSON: () => {}, cause: () => {}}));
    expect(await calling).toBe('stopped by Error: because');
  });
});

describe('a generator', () => {
  test('is run as its reader asks, and its result is that of the call', async () => {
    const body = (await call(pool(), 'count', {args: {to: 2}})) as AsyncGenerator<unknown, unknown, undefined>;
    expect([await body.next(), await body.next(), await body.next()]).toEqual([
      {done: false, value: {n: 1}},
      {done: false, value: {n: 2}},
      {done: true, value: 'counted to 2'},
    ]);
  });

  test('that is left runs its finally blocks', async () => {
    const {flag: left, reached} = flag();
    const it = pool();
    const body = (await call(it, 'count', {args: {to: 9, flag: left}})) as AsyncGenerator<unknown, unknown, undefined>;
    await body.next();
    expect(await body.return(undefined)).toEqual({done: true, value: undefined});
    await reached();
    expect(await call(it, 'echo', {args: {n: 1}})).toEqual({n: 1});
  });
});

test.each([
  [{maxThreads: 0}, 'workerPool.maxThreads'],
  [{maxThreads: 1.5}, 'workerPool.maxThreads'],
  [{idleMs: 0}, 'workerPool.idleMs'],
  [{threads: 2}, 'workerPool.threads'],
  [{asyncLocalStorages: [{storage: {}, module: 'file:///a.js', export: 'a'}]}, 'workerPool.asyncLocalStorages'],
])('a pool of %j is refused, naming the option', (options, option) => {
  expect(() => new WorkerPool(options as never)).toThrow(expect.objectContaining({code: 'INVALID_OPTION', option}));
});
