import {describe, expect, test} from 'vitest';
import {Gate} from '../../lib/async/gate.ts';
import type {Steps} from '../../lib/steps/steps.ts';
import {ReplayEngine} from '../../lib/testing/index.ts';

type Loop<E> = (steps: Steps) => AsyncGenerator<E, void, undefined>;

async function read<E>(engine: ReplayEngine, loop: Loop<E>): Promise<E[]> {
  const events: E[] = [];
  for await (const event of engine.drive(loop)) events.push(event);
  return events;
}

const macrotask = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));
const dropped = (): never => {
  throw new Error('nothing is dropped here');
};

describe('ReplayEngine crashes', () => {
  test('a loop after every step, and runs each step once', async () => {
    const engine = new ReplayEngine();
    const ran: string[] = [];
    const finished: string[] = [];
    const events = await read(engine, async function* (steps) {
      try {
        const first = await steps.step('one', () => (ran.push('one'), {n: 1}));
        yield {first};
        const second = await steps.step('two', async () => (ran.push('two'), {n: first.n + 1}));
        yield {second};
        yield {sum: first.n + second.n};
      } finally {
        finished.push('finally');
      }
    });
    expect(events).toEqual([{first: {n: 1}}, {second: {n: 2}}, {sum: 3}]);
    expect(ran).toEqual(['one', 'two']);
    expect([engine.attempts, engine.recorded]).toEqual([3, ['one', 'two']]);
    // A crash runs no `finally`: only the attempt that lived to its end did.
    expect(finished).toEqual(['finally']);
  });

  test('so that a loop only ever sees copies of its results', async () => {
    const original = {list: [1]};
    const seen: unknown[] = [];
    await read(new ReplayEngine(), async function* (steps) {
      const mine = await steps.step('make', () => original);
      mine.list.push(2);
      seen.push(mine);
      await steps.step('again', () => undefined);
    });
    expect(original).toEqual({list: [1]});
    expect(seen).toEqual([{list: [1, 2]}, {list: [1, 2]}]);
    expect(seen[0]).not.toBe(seen[1]);
  });

  test('a stream at its end: partials are passed on once, its value is replayed', async () => {
    const engine = new ReplayEngine();
    const loop: Loop<string> = async function* (steps) {
      const whole = yield* steps.stream('say', async function* () {
        yield 'Hel';
        yield 'lo';
        return 'Hello';
      });
      yield whole;
      await steps.step('after', () => null);
      yield 'done';
    };
    expect(await read(engine, loop)).toEqual(['Hel', 'lo', 'Hello', 'done']);
    expect([engine.attempts, engine.recorded]).toEqual([3, ['say', 'after']]);
  });

  test('a fan-out once, when the whole wave has settled', async () => {
    const engine = new ReplayEngine();
    const ran: string[] = [];
    const results: unknown[] = [];
    const loop: Loop<unknown> = async function* (steps) {
      const gate = new Gate(2);
      const call = (name: string, ticks: number) => () =>
        steps.step(`call ${name}`, async () => {
          for (let tick = 0; tick < ticks; tick++) await macrotask();
          ran.push(name);
          return {name};
        });
      const all = await steps.all([call('a', 5), call('b', 2), call('c', 1)], gate, dropped);
      results.push(all);
      yield all;
      yield await steps.step('last', () => 'end');
    };
    expect(await read(engine, loop)).toEqual([[{name: 'a'}, {name: 'b'}, {name: 'c'}], 'end']);
    expect(ran).toEqual(['b', 'c', 'a']);
    expect([engine.attempts, engine.recorded]).toEqual([3, ['call b', 'call c', 'call a', 'all', 'last']]);
    expect(results).toHaveLength(2);
  });

  test('a fan-out whose results are nothing', async () => {
    const events = await read(new ReplayEngine(), async function* (steps) {
      const results = await steps.all<number | undefined>([async () => undefined, async () => 1], new Gate(2), () => undefined);
      yield results.map((result) => result === undefined);
    });
    expect(events).toEqual([[true, false]]);
  });

  test('an empty fan-out too', async () => {
    const engine = new ReplayEngine();
    expect(
      await read(engine, async function* (steps) {
        yield await steps.all([], new Gate(1), dropped);
      }),
    ).toEqual([[]]);
    expect(engine.attempts).toBe(2);
  });

  test('and lets what a fan-out yields on its way pass once', async () => {
    const loop: Loop<string> = async function* (steps) {
      const shown: string[] = [];
      let wake = (): void => {};
      const done = steps.all(
        [
          () =>
            steps.step('tool', async () => {
              shown.push('50 %');
              wake();
              await macrotask();
              return 'ok';
            }),
        ],
        new Gate(1),
        dropped,
      );
      const first = await Promise.race([done, new Promise<void>((resolve) => (wake = resolve))]);
      if (!first) for (const progress of shown) yield progress;
      yield (await done).join();
    };
    expect(await read(new ReplayEngine(), loop)).toEqual(['50 %', 'ok']);
  });

  test('what a branch does, with a seam of its own', async () => {
    const engine = new ReplayEngine();
    const events = await read(engine, async function* (steps) {
      yield await steps.child('left', async (left) => `${await left.step('a', () => 'l1')}${await left.step('b', () => 'l2')}`);
      yield await steps.step('a', () => 'root');
    });
    expect(events).toEqual(['l1l2', 'root']);
    expect([engine.attempts, engine.recorded]).toEqual([4, ['a', 'b', 'a']]);
  });

  test('branches that run side by side, without running a step of either twice', async () => {
    const engine = new ReplayEngine();
    const ran: string[] = [];
    const branch = (steps: Steps, name: string): Promise<string> =>
      steps.child(name, async (own) => {
        for (const step of ['1', '2'])
          await own.step(step, async () => {
            await macrotask();
            ran.push(name + step);
          });
        return name;
      });
    const loop: Loop<string[]> = async function* (steps) {
      yield await Promise.all([branch(steps, 'x'), branch(steps, 'y')]);
    };
    expect(await read(engine, loop)).toEqual([['x', 'y']]);
    expect(ran.toSorted()).toEqual(['x1', 'x2', 'y1', 'y2']);
    expect(engine.attempts).toBe(3);
  });

  test('only when its option says so', async () => {
    let crash = true;
    const engine = new ReplayEngine({crash: () => crash});
    await read(engine, async function* (steps) {
      await steps.step('one', () => 1);
      crash = false;
      await steps.step('two', () => 2);
      yield 'end';
    });
    expect(engine.attempts).toBe(2);
    expect(() => new ReplayEngine({crash: true as unknown as () => boolean})).toThrow(
      'Expected `crash` to be a function, got true (boolean)',
    );
  });
});

describe('ReplayEngine records', () => {
  test('undefined as undefined', async () => {
    const seen: unknown[] = [];
    await read(new ReplayEngine(), async function* (steps) {
      seen.push(await steps.step('none', () => undefined));
    });
    expect(seen).toEqual([undefined]);
  });

  test('a thrown error, and throws the very object again', async () => {
    const engine = new ReplayEngine();
    const failure = new Error('no luck');
    let tries = 0;
    const caught: unknown[] = [];
    await read(engine, async function* (steps) {
      await steps
        .step('fails', () => {
          tries++;
          throw failure;
        })
        .catch((error: unknown) => caught.push(error));
      await steps.step('goes on', () => null);
    });
    expect([tries, engine.attempts]).toEqual([1, 3]);
    expect(caught.every((error) => error === failure)).toBe(true);
    expect(caught).toHaveLength(2);
  });

  test('a stream that throws', async () => {
    const failure = new Error('cut');
    const loop: Loop<string> = async function* (steps) {
      try {
        yield* steps.stream('say', async function* () {
          yield 'Hel';
          throw failure;
        });
      } catch (error) {
        yield error === failure ? 'failed' : 'something else';
      }
    };
    expect(await read(new ReplayEngine(), loop)).toEqual(['Hel', 'failed']);
  });

  test('what the loop itself throws goes to the reader', async () => {
    const failure = new Error('mine');
    const engine = new ReplayEngine();
    await expect(
      read(engine, async function* (steps) {
        yield await steps.step('a', () => 1);
        throw failure;
      }),
    ).rejects.toBe(failure);
    expect(engine.attempts).toBe(2);
  });

  test('now and uuid, without a crash for them', async () => {
    const engine = new ReplayEngine();
    const seen: unknown[] = [];
    await read(engine, async function* (steps) {
      const got = [await steps.now(), await steps.uuid(), await steps.uuid()];
      seen.push(got);
      await macrotask();
      await steps.step('a', () => null);
      yield got;
    });
    expect(engine.attempts).toBe(2);
    expect(seen[0]).toEqual(seen[1]);
    expect(new Set(seen.flat()).size).toBe(3);
  });

  const odd: [string, unknown, string][] = [
    ['a Date', {at: [new Date(0)]}, '.at[0] is an object (Date)'],
    ['a Map', new Map(), 'it is an object (Map)'],
    ['a function', {f: Math.max}, '.f is function max'],
    ['NaN', Number.NaN, 'it is NaN (number)'],
    ['a bigint', {big: 1n}, '.big is 1 (bigint)'],
    ['undefined in an array', [undefined], '[0] is undefined'],
    [
      'a cycle',
      (() => {
        const loop: Record<string, unknown> = {};
        loop['self'] = {loop};
        return loop;
      })(),
      '.self.loop holds itself',
    ],
  ];
  test.each(odd)('no %s: an error that the loop cannot swallow', async (_, value, flaw) => {
    const run = read(new ReplayEngine(), async function* (steps) {
      try {
        await steps.step('odd', () => value);
      } catch {
        yield 'swallowed';
      }
    });
    await expect(run).rejects.toMatchObject({code: 'REPLAY_NOT_PLAIN', message: `The result of \`odd\` must be plain JSON, but ${flaw}`});
  });
});

describe('ReplayEngine finds a loop that takes another way', () => {
  const replayed = <E>(loop: (attempt: number, steps: Steps) => AsyncGenerator<E, void, undefined>): Promise<E[]> => {
    let attempt = 0;
    return read(new ReplayEngine(), (steps) => loop(++attempt, steps));
  };

  test('by an event that is different', async () => {
    const run = replayed(async function* (attempt, steps) {
      yield {attempt};
      await steps.step('a', () => null);
    });
    await expect(run).rejects.toThrow('Replay diverged at event 0: it was {"attempt":1}, now it is {"attempt":2}');
  });

  test('but not by the order of keys, nor by a key that is undefined', async () => {
    const run = replayed(async function* (attempt, steps) {
      yield attempt === 1 ? {a: 1, b: 2} : {b: 2, a: 1, c: undefined};
      await steps.step('a', () => null);
    });
    expect(await run).toEqual([{a: 1, b: 2}]);
  });

  test('by an event that is missing', async () => {
    const run = replayed(async function* (attempt, steps) {
      if (attempt === 1) yield 'only once';
      await steps.step('a', () => null);
    });
    await expect(run).rejects.toThrow('Replay diverged at event 0: it was "only once", now it is the end');
  });

  test('by an error in place of an event', async () => {
    const cause = new Error('lost');
    const run = replayed(async function* (attempt, steps) {
      if (attempt > 1) throw cause;
      yield 'first';
      await steps.step('a', () => null);
    });
    await expect(run).rejects.toMatchObject({message: 'Replay diverged at event 0: it was "first", now it is an error', cause});
  });

  test('by the name of a step', async () => {
    const run = replayed(async function* (attempt, steps) {
      await steps.step(`step ${attempt}`, () => null).catch(() => {});
      yield 'swallowed';
    });
    await expect(run).rejects.toThrow('Replay diverged at position 0: it was step `step 1`, now it is step `step 2`');
  });

  test('by the kind of a step, in a branch', async () => {
    const run = replayed(async function* (attempt, steps) {
      await steps.child('left', async (left) => {
        await (attempt === 1 ? left.step('now', () => 1) : left.now());
      });
      yield 'never';
    });
    await expect(run).rejects.toThrow('Replay diverged in `left`, at position 0: it was step `now`, now it is `now`');
  });

  test('by the results of a fan-out', async () => {
    const run = replayed(async function* (attempt, steps) {
      yield await steps.all([() => steps.step('tool', () => 1).then((result) => result + attempt)], new Gate(1), dropped);
    });
    await expect(run).rejects.toThrow('the results of `all` were [2], now they are [3]');
  });

  test('by two steps of one name in a fan-out, which no replay could tell apart', async () => {
    const run = replayed(async function* (_, steps) {
      const thunk = (): Promise<number> => steps.step('tool', () => 1);
      yield await steps.all([thunk, thunk], new Gate(2), dropped);
    });
    await expect(run).rejects.toThrow('`tool` stands twice in one fan-out');
  });
});

describe('ReplayEngine when the reader leaves', () => {
  test('lets the loop clean up, without a crash', async () => {
    const engine = new ReplayEngine();
    const done: string[] = [];
    for await (const event of engine.drive(async function* (steps) {
      try {
        yield await steps.step('work', () => 'event');
        yield 'not read';
      } finally {
        done.push(await steps.step('close', () => 'closed'));
      }
    })) {
      expect(event).toBe('event');
      break;
    }
    expect(done).toEqual(['closed']);
    expect([engine.attempts, engine.recorded]).toEqual([2, ['work', 'close']]);
  });

  test('in the middle of a stream, closes its source', async () => {
    const engine = new ReplayEngine();
    let closed = false;
    const events = engine.drive(async function* (steps) {
      yield* steps.stream('say', async function* () {
        try {
          yield 'Hel';
          yield 'lo';
        } finally {
          closed = true;
        }
      });
    });
    await events.next();
    expect(await events.return()).toEqual({done: true, value: undefined});
    expect([closed, engine.recorded]).toEqual([true, []]);
  });

  test('by throw(), hands the error to the loop', async () => {
    const events = new ReplayEngine().drive(async function* () {
      try {
        yield 'a';
      } catch (error) {
        yield `caught ${String(error)}`;
      }
    });
    await events.next();
    expect(await events.throw('it')).toEqual({done: false, value: 'caught it'});
    expect(await events.next()).toEqual({done: true, value: undefined});
  });

  test('before the first next(), starts nothing', async () => {
    const engine = new ReplayEngine();
    await engine
      .drive(async function* () {
        yield 1;
      })
      .return();
    expect(engine.attempts).toBe(0);
  });
});
