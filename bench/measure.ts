/** What one call of a function costs, in microseconds. */
export interface Cost {
  /** This thread's own time: other work on a busy machine hardly touches it. */
  readonly cpu: number;
  readonly wall: number;
}

/** Calls `once` for about `budgetMs`, three times at least; medians over stretches of at least 10 ms, which the clock of a thread needs. */
export async function cost(once: () => Promise<void>, budgetMs = 500): Promise<Cost> {
  const cpu: number[] = [];
  const wall: number[] = [];
  const end = performance.now() + budgetMs;
  while (wall.length < 3 || performance.now() < end) {
    const before = process.threadCpuUsage();
    const start = performance.now();
    let calls = 0;
    do await once();
    while (++calls && performance.now() - start < 10);
    wall.push(((performance.now() - start) * 1000) / calls);
    const {user, system} = process.threadCpuUsage(before);
    cpu.push((user + system) / calls);
  }
  return {cpu: median(cpu), wall: median(wall)};
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
