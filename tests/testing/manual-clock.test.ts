import {setTimeout as sleep} from 'node:timers/promises';
import {afterEach, beforeEach, describe, expect, test, vi} from 'vitest';
import {ManualClock} from '../../lib/testing/index.ts';

const real = {setTimeout, clearTimeout, setInterval, clearInterval, dateNow: Date.now};

let clock: ManualClock;
let fired: string[];
beforeEach(() => {
  clock = ManualClock.install();
  fired = [];
});
afterEach(() => clock.uninstall());

const note = (name: string): void => void fired.push(`${name} at ${clock.nowMs}`);

describe('ManualClock fires timers', () => {
  test('by due time, then in the order they were set', () => {
    setTimeout(note, 20, 'c');
    setTimeout(note, 10, 'a');
    setTimeout(note, 10, 'b');
    setTimeout(note, 30, 'd');
    clock.advance(20);
    expect(fired).toEqual(['a at 10', 'b at 10', 'c at 20']);
    expect(clock.pending).toEqual([{dueMs: 30, hasRef: true, repeats: false}]);
    clock.advance(9);
    expect([fired.length, clock.nowMs]).toEqual([3, 29]);
  });

  test('that are set meanwhile', () => {
    setTimeout(() => {
      note('a');
      setTimeout(note, 5, 'b');
      setTimeout(note, 6, 'c');
    }, 10);
    clock.advance(15);
    expect(fired).toEqual(['a at 10', 'b at 15']);
  });

  test('one at a time with advanceToNext', () => {
    setTimeout(note, 1_000_000, 'far');
    setTimeout(note, 1, 'near').unref();
    expect([clock.advanceToNext(), fired]).toEqual([true, ['near at 1']]);
    expect([clock.advanceToNext(), fired.length]).toEqual([true, 2]);
    expect([clock.advanceToNext(), clock.nowMs]).toEqual([false, 1_000_000]);
  });

  test('that await each other with advanceAsync', async () => {
    const chain = (async () => {
      for (let lap = 1; lap <= 3; lap++) {
        await new Promise((resolve) => setTimeout(resolve, 10));
        note(`lap ${lap}`);
      }
    })();
    await clock.advanceAsync(25);
    expect(fired).toEqual(['lap 1 at 10', 'lap 2 at 20']);
    await clock.advanceAsync(5);
    await chain;
    expect([fired.at(-1), clock.nowMs]).toEqual(['lap 3 at 30', 30]);
  });

  test('again and again for an interval, until it is cleared', () => {
    const interval = setInterval(() => {
      note('tick');
      if (fired.length === 3) clearInterval(interval);
    }, 10);
    expect(clock.pending).toEqual([{dueMs: 10, hasRef: true, repeats: true}]);
    clock.advance(100);
    expect(fired).toEqual(['tick at 10', 'tick at 20', 'tick at 30']);
    expect(clock.pending).toEqual([]);
  });

  test('with the delay that Node makes of an odd one: 1 ms', () => {
    for (const odd of [undefined, Number.NaN, -5, 0, Infinity, 2_147_483_648]) setTimeout(note, odd, String(odd));
    setTimeout(note, 2_147_483_647, 'longest');
    setTimeout(note, '7' as unknown as number, 'seven');
    clock.advance(10);
    expect(fired.filter((name) => name.endsWith('at 1'))).toHaveLength(6);
    expect(fired.at(-1)).toBe('seven at 7');
    expect(clock.pending).toEqual([{dueMs: 2_147_483_647, hasRef: true, repeats: false}]);
  });

  test('and throws on what a callback throws, once', () => {
    setTimeout(() => {
      throw new Error('boom');
    }, 1);
    expect(() => clock.advanceToNext()).toThrow('boom');
    expect(clock.pending).toEqual([]);
  });
});

describe('ManualClock hands out timers as Node does', () => {
  test('with ref, unref and hasRef', () => {
    const timer = setTimeout(() => {}, 10);
    expect(timer.hasRef()).toBe(true);
    expect(timer.unref()).toBe(timer);
    expect([timer.hasRef(), clock.pending[0]?.hasRef]).toEqual([false, false]);
    expect([timer.ref(), timer.hasRef()]).toEqual([timer, true]);
  });

  test('cleared by object, by number and by text; a foreign thing clears nothing', () => {
    const timers = [setTimeout(note, 1), setTimeout(note, 2), setTimeout(note, 3), setTimeout(note, 4)];
    clearTimeout(timers[0]);
    clearTimeout(Number(timers[1]));
    clearTimeout(String(Number(timers[2])));
    for (const foreign of [undefined, null, -1, {}, 'x']) clearTimeout(foreign as undefined);
    expect(clock.pending).toEqual([{dueMs: 4, hasRef: true, repeats: false}]);
  });

  test('that refresh and close', () => {
    const timer = setTimeout(() => note('late'), 10);
    clock.advance(9);
    timer.refresh();
    clock.advance(9);
    expect(fired).toEqual([]);
    clock.advance(1);
    expect(fired).toEqual(['late at 19']);
    timer.refresh();
    timer.close();
    expect(clock.pending).toEqual([]);
  });

  test('and clears a real timer from before as a real one', async () => {
    clock.uninstall();
    const before = vi.fn<() => void>();
    const timer = setTimeout(before, 0);
    clock = ManualClock.install();
    clearTimeout(timer);
    await sleep(10);
    expect(before).not.toHaveBeenCalled();
  });

  test('only for functions', () => {
    expect(() => setTimeout('code' as unknown as () => void, 1)).toThrow(TypeError);
  });
});

describe('ManualClock stands in', () => {
  test('for Date.now and performance.now', () => {
    const start = Date.now();
    expect([start, performance.now()]).toEqual([Date.UTC(2026, 0, 1), 0]);
    clock.advance(1_500);
    expect([Date.now() - start, performance.now()]).toEqual([1_500, 1_500]);
  });

  test("from a start of the test's own", () => {
    clock.uninstall();
    clock = ManualClock.install({startMs: 5});
    expect(Date.now()).toBe(5);
  });

  test('until it is uninstalled, which restores everything and drops what is pending', () => {
    setTimeout(note, 1, 'never');
    clock.uninstall();
    clock.uninstall();
    expect({setTimeout, clearTimeout, setInterval, clearInterval, dateNow: Date.now}).toEqual(real);
    expect(Object.hasOwn(performance, 'now')).toBe(false);
    expect([clock.pending, clock.advanceToNext(), fired]).toEqual([[], false, []]);
  });

  test('until the end of its block with `using`', () => {
    clock.uninstall();
    {
      using mine = ManualClock.install();
      expect([mine.nowMs, performance.now()]).toEqual([0, 0]);
    }
    expect(performance.now()).toBeGreaterThan(0);
  });

  test('only once at a time', () => {
    expect(() => ManualClock.install()).toThrow('installed already');
  });

  test.each([-1, Number.NaN])('and never goes back: advance(%s) is an error', async (ms) => {
    expect(() => clock.advance(ms)).toThrow('Expected `ms` to be a number of milliseconds, 0 or more');
    await expect(clock.advanceAsync(ms)).rejects.toThrow('Expected `ms`');
  });
});
