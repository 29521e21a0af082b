import type {Lifetime} from '../async/lifetime.ts';

/** Whether what a body came to is a generator that is still to be run. */
export function isGenerator(value: unknown): value is AsyncGenerator<unknown, unknown, undefined> {
  return typeof value === 'object' && value !== null && Symbol.asyncIterator in value && 'next' in value && 'return' in value;
}

/**
 * Runs a generator body: shows what it yields, and resolves to what it returns. At the end of `life` it is told to return.
 *
 * @param pull - calls its `next`
 */
export async function drain(
  body: AsyncGenerator<unknown, unknown, undefined>,
  life: Lifetime,
  show: (value: unknown, abortSignal: AbortSignal) => Promise<void>,
  pull: <T>(next: () => Promise<T>) => Promise<T>,
): Promise<unknown> {
  for (;;) {
    const {done, value} = await pull(() => body.next());
    if (done) return value;
    await show(value, life.signal);
    if (life.ended) {
      await body.return(undefined);
      throw life.reason;
    }
  }
}
