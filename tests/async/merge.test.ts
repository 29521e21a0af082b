import {describe, expect, test} from 'vitest';
import {Merge} from '../../lib/async/merge.ts';

/** Whether a promise has settled by the time that everything has reacted. */
async function isSettled(promise: Promise<unknown>): Promise<boolean> {
  let settled = false;
  void promise.then(() => (settled = true));
  await new Promise((resolve) => void setImmediate(resolve));
  return settled;
}

async function readAll<T>(merge: Merge<T>): Promise<T[]> {
  const values: T[] = [];
  for (let next = await merge.peek(); next; next = await merge.peek()) values.push((await merge.take(next.source)) as T);
  return values;
}

describe('Merge', () => {
  test('gives values in the order in which they come, whatever the source', async () => {
    const merge = new Merge<string>(3);
    const read = readAll(merge);
    const produce = async (source: number, ...values: string[]): Promise<void> => {
      for (const value of values) await merge.put(source, value);
      merge.end(source);
    };

    await Promise.all([produce(2, 'c1', 'c2'), produce(0, 'a1'), produce(1, 'b1', 'b2', 'b3')]);

    expect(await read).toEqual(['c1', 'a1', 'b1', 'c2', 'b2', 'b3']);
  });

  test('lets a source go on only when its value was taken and the reader asks again', async () => {
    const merge = new Merge<string>(1);
    const put = merge.put(0, 'a');

    expect(await merge.peek()).toMatchObject({source: 0, value: 'a'});
    expect(await isSettled(put)).toBe(false);
    expect(await merge.take(0)).toBe('a');
    expect(await isSettled(put)).toBe(false);
    void merge.peek();
    expect(await isSettled(put)).toBe(true);
  });

  test('does not hold up one source by another', async () => {
    const merge = new Merge<string>(2);
    void merge.put(0, 'slow');
    const values: (string | undefined)[] = [];
    for (const value of ['1', '2', '3']) {
      const put = merge.put(1, value);
      values.push(await merge.take(1));
      void merge.peek();
      await put;
    }
    expect(values).toEqual(['1', '2', '3']);
  });

  test('puts what is urgent first, in its order, and holds every source until it was taken', async () => {
    const merge = new Merge<string>(4);
    const puts = [merge.put(0, 'a'), merge.put(1, 'b')];
    await merge.peek();
    await merge.take(0);
    void merge.put(2, 'urgent 1', true);
    void merge.put(3, 'urgent 2', true);

    expect(merge.waiting.map(({value}) => value)).toEqual(['urgent 1', 'urgent 2', 'b']);
    await merge.peek();
    expect(await isSettled(puts[0] as Promise<void>)).toBe(false);
    expect([await merge.take(2), await merge.take(3)]).toEqual(['urgent 1', 'urgent 2']);
    await merge.peek();
    expect(await isSettled(puts[0] as Promise<void>)).toBe(true);
  });

  test('waits for the source that the reader names, and lets it go on for that', async () => {
    const merge = new Merge<string>(2);
    void merge.put(0, 'a');
    const first = merge.put(1, 'b1').then(() => merge.put(1, 'b2'));
    expect(await merge.take(1)).toBe('b1');
    expect(await merge.take(1)).toBe('b2');
    void first;
    const none = merge.take(1);
    merge.end(1);
    expect(await none).toBeUndefined();
    expect(await merge.take(0)).toBe('a');
  });

  test('is over when every source is and everything was taken; what a source had handed over stays', async () => {
    const merge = new Merge<string>(2);
    void merge.put(0, 'last');
    merge.end(0);
    void merge.put(0, 'too late');

    expect(await merge.peek()).toMatchObject({value: 'last'});
    expect(await merge.take(0)).toBe('last');
    const end = merge.peek();
    expect(await isSettled(end)).toBe(false);
    merge.end(1);
    expect(await end).toBeUndefined();
    expect(await new Merge(0).peek()).toBeUndefined();
  });

  test('lets go of a source on demand, and keeps what it had handed over', async () => {
    const merge = new Merge<string>(1);
    const put = merge.put(0, 'a');
    merge.letGo(0);
    await put;
    expect(await merge.take(0)).toBe('a');
  });
});
