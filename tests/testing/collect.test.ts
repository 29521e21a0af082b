import {describe, expect, test} from 'vitest';
import {collect} from '../../lib/testing/index.ts';

/** A run that yields some numbers, and may throw then. */
function run(
  events: readonly number[],
  ...thrown: readonly unknown[]
): AsyncGenerator<number, void, undefined> & {settled: Promise<string>} {
  const settled = Promise.withResolvers<string>();
  const generator = (async function* () {
    try {
      yield* events;
      if (thrown.length > 0) throw thrown[0];
    } finally {
      setImmediate(() => settled.resolve(thrown.length > 0 ? 'error' : 'done'));
    }
  })();
  return Object.assign(generator, {settled: settled.promise});
}

describe('collect', () => {
  test('gives all events and the outcome of a run that ends well', async () => {
    const collected = await collect(run([1, 2]));
    expect(collected).toEqual({events: [1, 2], outcome: 'done'});
    expect(collected).not.toHaveProperty('error');
  });

  test.each([new Error('x'), undefined, 'text'])('gives what the run threw, whatever that is: %s', async (thrown) => {
    const collected = await collect(run([1], thrown));
    expect(collected).toHaveProperty('error', thrown);
    expect([collected.events, collected.outcome]).toEqual([[1], 'error']);
  });
});
