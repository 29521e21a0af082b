/** What one call of a function costs, in microseconds. */
export interface Cost {
  /** This thread's own time: other work on a busy machine hardly touches it. */
  readonly cpu: number;
  /** The median of the wall times. */
  readonly wall: number;
}

/** Calls `once` for about `budgetMs`, three times at least. */
export async function cost(once: () => Promise<void>, budgetMs = 500): Promise<Cost> {
  const walls: number[] = [];
  const end = performance.now() + budgetMs;
  const before = process.threadCpuUsage();
  while (walls.length < 3 || performance.now() < end) {
    const start = performance.now();
    await once();
    walls.push(performance.now() - start);
  }
  const {user, system} = process.threadCpuUsage(before);
  return {cpu: (user + system) / walls.length, wall: median(walls) * 1000};
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
