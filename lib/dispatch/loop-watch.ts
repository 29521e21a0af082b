import type {Timers} from '../async/timers.ts';

/** Notices when bodies block the event loop. */
export interface LoopWatch {
  /**
   * Runs a body, or one step of it. One that blocks in its synchronous start is known by its name; of those that are under way while the
   * loop stands still any may be to blame.
   */
  run<T>(name: string, body: () => T | PromiseLike<T>): Promise<T>;
}

// Up to when it is known who blocked, whichever run has found it out: no other run is to blame its own tools for that.
let explained = 0;

/**
 * @param limitMs - how long a block may be, in milliseconds. `Infinity`: any
 * @param report - told who has blocked, or who ran while somebody did, and for how long
 */
export function watchLoop(limitMs: number, timers: Timers, report: (names: string, ms: number, isKnown: boolean) => void): LoopWatch {
  const running = new Set<{readonly name: string; readonly since: number}>();
  const periodMs = limitMs / 4;
  // When the timer should fire. It goes only while something runs, and once started is kept, so that short calls arm none.
  let due = 0;

  const blocked = (names: readonly string[], ms: number, isKnown: boolean): void => {
    const now = performance.now();
    due = now + periodMs;
    if (isKnown) explained = now;
    report([...new Set(names)].join(', '), Math.round(ms), isKnown);
  };
  const check = (): void => {
    const now = performance.now();
    const ms = now - Math.max(due, explained);
    if (ms <= limitMs) return;
    // A chain of short calls keeps the loop busy too, and none of them is to blame.
    const names = [...running].flatMap(({name, since}) => (now - since > limitMs ? name : []));
    if (names.length > 0) blocked(names, ms, false);
  };
  const arm = (now: number): void => {
    due = now + periodMs;
    timers.set(periodMs, () => {
      check();
      due = 0;
      if (running.size > 0) arm(performance.now());
    });
  };

  return {
    async run(name, body) {
      const since = performance.now();
      const it = {name, since};
      running.add(it);
      if (due === 0) arm(since);
      try {
        const result = body();
        const ms = performance.now() - since;
        if (ms > limitMs) blocked([name], ms, true);
        return await result;
      } finally {
        // It may have blocked up to now, and the run be over before the timer can tell.
        check();
        running.delete(it);
      }
    },
  };
}
