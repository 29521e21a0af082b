import fc from 'fast-check';
import {describe, expect, test} from 'vitest';
import {parseJson} from '../../lib/serve/request-json.ts';
import {saying, site} from './kit.ts';

/** The least of several tries, in milliseconds: what a busy machine adds is not what is measured. */
async function quickest(attempt: () => unknown): Promise<number> {
  let least = Infinity;
  for (let tries = 0; tries < 3; tries++) {
    const began = performance.now();
    await attempt();
    least = Math.min(least, performance.now() - began);
  }
  return least;
}

const keys = (count: number): string => `{"x":{${Array.from({length: count}, (_, at) => `"k_${at}":1`).join(',')}}}`;
const run = (extra: string): string => `{"x":${extra},${JSON.stringify(saying('Hi')).slice(1)}`;

/** What a request costs beside the parser, in milliseconds, that has nothing to do with its body. */
const ROOM_MS = 50;

describe('a body costs little more than its parser, and one that would cost much is not parsed', () => {
  test.each([
    ['many keys', keys(120_000), 403],
    ['many records', run(`[${'{"a_b":1},'.repeat(120_000)}0]`), 403],
    ['a long text', run(JSON.stringify('x'.repeat(10_000_000))), 403],
    ['a text full of escapes', run(JSON.stringify('"[,{'.repeat(2_000_000))), 403],
  ])('with %s, before a client is let in', async (_, body, status) => {
    const it = await site({authorize: () => false});
    const parsing = await quickest(() => JSON.parse(body) as unknown);
    const handling = await quickest(async () => expect((await it.ask('POST', '/run', body)).status).toBe(status));
    expect(handling).toBeLessThan(3 * parsing + ROOM_MS);
  });

  test('with much in it that no route reads, also when it runs', async () => {
    const it = await site({steps: ['a', 'b', 'c']});
    const body = run(`[${'{"a_b":1},'.repeat(120_000)}0]`);
    const parsing = await quickest(() => JSON.parse(body) as unknown);
    const handling = await quickest(async () => expect((await it.ask('POST', '/run', body)).status).toBe(200));
    expect(handling).toBeLessThan(3 * parsing + ROOM_MS);
  });

  test.each([
    ['lists', `{"x":[${'[],'.repeat(1_000_000)}[]]}`],
    ['keys', keys(300_000)],
  ])('with %s without end', async (_, body) => {
    const it = await site({authorize: () => false});
    const parsing = await quickest(() => JSON.parse(body) as unknown);
    const handling = await quickest(async () => expect((await it.ask('POST', '/run', body)).status).toBe(422));
    expect(handling).toBeLessThan(parsing);
  });
});

describe('parseJson', () => {
  test('takes 250,000 values, and none more', () => {
    const list = (length: number): string => `{"list":[${Array(length).fill('"a,[{"').join(',')}]}`;
    expect((parseJson(list(249_999), 'it')['list'] as unknown[]).length).toBe(249_999);
    expect(() => parseJson(list(250_000), 'it')).toThrow('Expected it to hold at most 250000 values');
  });

  test('takes 400 levels, and none more', () => {
    const nested = (levels: number): string => `{"a":${'['.repeat(levels - 1)}${']'.repeat(levels - 1)}}`;
    expect(Object.keys(parseJson(nested(400), 'it'))).toEqual(['a']);
    expect(() => parseJson(nested(401), 'it')).toThrow('Expected it to nest at most 400 levels deep');
  });

  test('takes the largest and the smallest numbers, and what only looks like a number', () => {
    const text = '{"a":[1.7976931348623157e308,-1e308,1e-999,0.1E+5,true,false,null],"1e999":"1e999","\\"1e999":"\\\\"}';
    expect(parseJson(text, 'it')).toEqual(JSON.parse(text));
  });

  test('reads whatever JSON there is as JSON.parse does, and refuses what it refuses', () => {
    fc.assert(
      fc.property(fc.json({stringUnit: 'grapheme'}), fc.constantFrom(undefined, 1, 2), (json, indent) => {
        const text = JSON.stringify({json: JSON.parse(json) as unknown}, undefined, indent);
        expect(parseJson(text, 'it')).toEqual(JSON.parse(text));
        expect(() => parseJson(text.slice(0, -1), 'it')).toThrow('to be JSON');
      }),
    );
  });
});
