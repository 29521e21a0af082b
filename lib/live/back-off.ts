import type {RunScope} from '../agents/run-scope.ts';

const RETRY_DELAY_MS = 500;
const LONGEST_DELAY_MS = 30_000;

/**
 * Waits before the next connection: after the first loss not at all, since most losses are a server that goes where another one is there; then
 * 500 ms, doubling, give or take a quarter, and as long as the server asks for, but never over 30 seconds. Rejects at the end of the run.
 */
export async function backOff({life, timers}: RunScope, losses: number, retryDelayMs = 0): Promise<void> {
  const ms = losses === 1 ? 0 : RETRY_DELAY_MS * 2 ** (losses - 2) * (0.75 + Math.random() / 2);
  await new Promise<void>((resolve) => {
    const cancel = timers.set(Math.min(Math.max(ms, retryDelayMs), LONGEST_DELAY_MS), resolve);
    life.onEnd(() => {
      cancel();
      resolve();
    });
  });
  life.throwIfEnded();
}
