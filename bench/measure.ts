/** What one call of a function costs, in microseconds. */
export interface Cost {
  /** This thread's own time: other work on a busy machine hardly touches it. */
  readonly cpu: number;
  /** What passed meanwhile. */
  readonly wall: number;
}

/**
 * Calls `once` for about `budgetMs`, after as long a time that does not count: on a busy machine the compiler, which works beside the
 * program, takes its time. Each sample is a stretch of at least 10 ms, which the clock of a thread needs; a tenth of them were quicker
 * than what is returned.
 */
export async function cost(once: () => Promise<void>, budgetMs = 600): Promise<Cost> {
  const cpu: number[] = [];
  const wall: number[] = [];
  await samples(once, budgetMs, () => {});
  await samples(once, budgetMs, (sample) => {
    cpu.push(sample.cpu);
    wall.push(sample.wall);
  });
  return {cpu: quantile(cpu, 0.1), wall: quantile(wall, 0.1)};
}

async function samples(once: () => Promise<void>, budgetMs: number, take: (sample: Cost) => void): Promise<void> {
  const end = performance.now() + budgetMs;
  for (let count = 0; count < 3 || performance.now() < end; count++) {
    const before = process.threadCpuUsage();
    const start = performance.now();
    let calls = 0;
    do {
      await once();
      calls++;
    } while (performance.now() - start < 10);
    const {user, system} = process.threadCpuUsage(before);
    take({cpu: (user + system) / calls, wall: ((performance.now() - start) * 1000) / calls});
  }
}

export function median(values: readonly number[]): number {
  return quantile(values, 0.5);
}

export function quantile(values: readonly number[], q: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  const at = q * (sorted.length - 1);
  const [low = NaN, high = NaN] = [sorted[Math.floor(at)], sorted[Math.ceil(at)]];
  return low + (high - low) * (at - Math.floor(at));
}
