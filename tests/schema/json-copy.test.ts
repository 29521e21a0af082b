import {describe, expect, test} from 'vitest';
import {InvalidOptionError} from '../../lib/errors.ts';
import {checkedCopy, copyJson, frozenCopy, setOwn} from '../../lib/schema/json-copy.ts';

/** Texts whose values JSON can hold: a copy must write the same bytes. */
const texts = [
  'null',
  'true',
  '-1.5e-7',
  '""',
  '[]',
  '{}',
  '[[[]],{},[null,false,0,""]]',
  '{"b":{"z":1,"a":[{"k":null}]},"1":"numeric key","":"empty key"}',
  '{"__proto__":{"polluted":true},"constructor":{"prototype":{}},"hasOwnProperty":1,"toString":"t"}',
  '{"text":"Grüße 世界 👋 \\u2028 \\ud800"}',
];

describe.each([
  ['frozenCopy', frozenCopy],
  ['checkedCopy', checkedCopy],
  ['copyJson', copyJson],
] as const)('%s', (name, copyOf) => {
  test.each(texts)('copies %s to the byte', (text) => {
    const value: unknown = JSON.parse(text);
    const copy = copyOf(value);
    expect(JSON.stringify(copy)).toBe(JSON.stringify(value));
    expect(Reflect.get({}, 'polluted')).toBeUndefined();
  });

  test('shares nothing with what it copied', () => {
    const value = {list: [{deep: [1]}], record: {a: {b: 1}}};
    const copy = copyOf(value);
    value.list[0]!.deep.push(2);
    value.record.a.b = 2;
    expect(copy).toEqual({list: [{deep: [1]}], record: {a: {b: 1}}});
  });

  test('leaves out keys whose value is undefined', () => {
    expect(Object.keys(copyOf({a: undefined, b: 1}))).toEqual(['b']);
    expect(copyOf<unknown>(undefined)).toBeUndefined();
  });

  test('is frozen all through, or not at all', () => {
    const copy = copyOf({list: [{deep: []}], empty: {}});
    const parts = [copy, copy.list, copy.list[0], copy.list[0]!.deep, copy.empty];
    expect(parts.map((part) => Object.isFrozen(part))).toEqual(parts.map(() => name === 'frozenCopy'));
  });

  test('copies 500 levels, and refuses what has no end', () => {
    const deep: unknown = JSON.parse('['.repeat(500) + ']'.repeat(500));
    expect(JSON.stringify(copyOf(deep))).toBe(JSON.stringify(deep));
    expect(() => copyOf<unknown>(JSON.parse('['.repeat(100_000) + ']'.repeat(100_000)))).toThrow(
      /at most 500 levels deep, got an array of 1$/,
    );
    const cycle: Record<string, unknown> = {wide: Array.from({length: 1_000}, (_, index) => index)};
    cycle['self'] = {again: cycle};
    expect(() => copyOf(cycle)).toThrow(InvalidOptionError);
  });

  test('one object in two places is no cycle', () => {
    const shared = {n: 1};
    expect(copyOf([shared, {shared}])).toEqual([{n: 1}, {shared: {n: 1}}]);
  });

  test('a record without prototype becomes an ordinary one', () => {
    const bare = Object.assign(Object.create(null) as object, {a: 1});
    expect(Object.getPrototypeOf(copyOf(bare))).toBe(Object.prototype);
    expect(copyOf(bare)).toEqual({a: 1});
  });
});

test('copyJson keeps what is not plain as it is', () => {
  const at = new Date();
  const run = (): number => 1;
  const copy = copyJson({at, run, big: 1n, map: new Map([[1, 2]]), list: [undefined, Number.NaN]});
  expect(copy.at).toBe(at);
  expect(copy.run).toBe(run);
  expect(copy).toEqual({at, run, big: 1n, map: new Map([[1, 2]]), list: [undefined, Number.NaN]});
});

describe.each([
  ['frozenCopy', frozenCopy],
  ['checkedCopy', checkedCopy],
] as const)('%s', (_, copyOf) => {
  class Point {
    readonly x = 1;
    readonly nothing = undefined;
    get distance(): number {
      return 1;
    }
  }
  class Masked {
    readonly secret = 1;
    toJSON(): unknown {
      return {shown: [new Point()]};
    }
  }

  test.each([
    ['a Date', {at: new Date(0)}],
    ['an invalid Date', {at: new Date(Number.NaN)}],
    ['a URL', {url: new URL('https://example.com/a')}],
    ['a class instance', {point: new Point()}],
    ['a class with toJSON', {masked: new Masked()}],
    [
      'a toJSON that gives nothing',
      {
        a: new (class {
          toJSON(): void {}
        })(),
        list: [
          new (class {
            toJSON(): void {}
          })(),
        ],
      },
    ],
    ['holes and undefined in a list', {list: Object.assign([undefined], {2: 1})}],
    ['a list with a name on it', Object.assign([1], {named: 2})],
    ['a symbol key', {[Symbol('s')]: 1, a: 1}],
    ['a key that is not enumerable', Object.defineProperty({a: 1}, 'hidden', {value: 2})],
    [
      'a getter',
      {
        get now(): number {
          return 7;
        },
      },
    ],
  ])('writes %s as JSON.stringify would', (_label, value) => {
    expect(copyOf<unknown>(value)).toStrictEqual(JSON.parse(JSON.stringify(value)));
  });

  const cycle: Record<string, unknown> = {a: [{}]};
  (cycle['a'] as Record<string, unknown>[])[0]!['back'] = cycle;

  test.each([
    ['a BigInt', {a: {b: [0, 10n]}}, 'Expected `event.a.b[1]` to be a value that JSON can hold, got 10 (bigint)'],
    ['a function', {a: {run() {}}}, 'Expected `event.a.run` to be a value that JSON can hold, got function run'],
    ['a symbol', [Symbol('s')], 'Expected `event[0]` to be a value that JSON can hold, got Symbol(s) (symbol)'],
    ['NaN', {'odd key': Number.NaN}, 'Expected `event["odd key"]` to be a value that JSON can hold, got NaN (number)'],
    ['Infinity', {a: -Infinity}, 'Expected `event.a` to be a value that JSON can hold, got -Infinity (number)'],
    ['a Map', {a: new Map([[1, 2]])}, 'Expected `event.a` to be a value that JSON can hold, got an object (Map)'],
    ['a Set', {a: new Set([1])}, 'Expected `event.a` to be a value that JSON can hold, got an object (Set)'],
    ['a typed array', {a: new Uint8Array(3)}, 'Expected `event.a` to be a value that JSON can hold, got an object (Uint8Array)'],
    ['a Buffer', {a: Buffer.from('abc')}, 'Expected `event.a` to be a value that JSON can hold, got an object (Buffer)'],
    ['an ArrayBuffer', {a: new ArrayBuffer(3)}, 'Expected `event.a` to be a value that JSON can hold, got an object (ArrayBuffer)'],
    ['an Error', {a: new Error('lost')}, 'Expected `event.a` to be a value that JSON can hold, got an object (Error)'],
    ['a Promise', {a: Promise.resolve()}, 'Expected `event.a` to be a value that JSON can hold, got an object (Promise)'],
    [
      'an AbortSignal',
      {a: new AbortController().signal},
      'Expected `event.a` to be a value that JSON can hold, got an object (AbortSignal)',
    ],
    [
      'a BigInt that a toJSON gives',
      {
        a: {
          toJSON: null,
          b: new (class {
            toJSON(): unknown {
              return {c: 1n};
            }
          })(),
        },
      },
      'Expected `event.a.b.c` to be a value that JSON can hold, got 1 (bigint)',
    ],
    ['a cycle', cycle, 'Expected `event.a[0].back` to be free of cycles, got an object (Object)'],
    [
      'a getter that throws',
      {
        a: {
          get b(): number {
            throw new Error('no');
          },
        },
      },
      'Expected `event.a` to be readable, but reading it threw "no", got an object (Object)',
    ],
    ['a BigInt at the top', 10n, 'Expected `event` to be a value that JSON can hold, got 10 (bigint)'],
  ])('refuses %s with its path', (_label, value, message) => {
    let thrown: unknown;
    try {
      copyOf<unknown>(value, 'event');
    } catch (error) {
      thrown = error;
    }
    expect(thrown).toBeInstanceOf(InvalidOptionError);
    expect((thrown as InvalidOptionError).message).toBe(message);
  });

  test('what a getter or a toJSON threw is the cause', () => {
    const reason = new Error('no');
    const value = new (class {
      toJSON(): unknown {
        throw reason;
      }
    })();
    expect(() => copyOf({value})).toThrow(expect.objectContaining({option: 'value.value', cause: reason}) as Error);
  });

  test('a value that changes under the copy is refused for what it was', () => {
    let reads = 0;
    const fickle = {
      get a(): unknown {
        reads += 1;
        return reads === 1 ? 10n : 1;
      },
    };
    expect(() => copyOf(fickle)).toThrow('Expected `value.a` to be a value that JSON can hold, got 10 (bigint)');
  });
});

test("setOwn sets any key as the record's own", () => {
  const record: Record<string, unknown> = {};
  for (const key of ['__proto__', 'constructor', 'a']) setOwn(record, key, {key});
  expect(Object.entries(record)).toEqual([
    ['__proto__', {key: '__proto__'}],
    ['constructor', {key: 'constructor'}],
    ['a', {key: 'a'}],
  ]);
  expect(Object.getPrototypeOf(record)).toBe(Object.prototype);
  setOwn(record, '__proto__', 2);
  expect(Object.getOwnPropertyDescriptor(record, '__proto__')?.value).toBe(2);
});
