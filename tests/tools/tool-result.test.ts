import {deepStrictEqual} from 'node:assert';
import {createPartFromBase64, createPartFromUri} from '@google/genai';
import fc from 'fast-check';
import {describe, expect, test} from 'vitest';
import {toErrorResponse, toFunctionResponse} from '../../lib/tools/tool-result.ts';

/** The response alone; there are no media. */
function responseOf(value: unknown): Record<string, unknown> {
  const result = toFunctionResponse(value);
  expect(Object.keys(result)).toEqual(['response']);
  return result.response;
}

/** How a value is written within a result. */
function written(value: unknown): unknown {
  return responseOf({x: value})['x'];
}

class Money {
  readonly amount = 5;
  readonly currency = 'EUR';
  readonly #secret = 'hidden';
  get secret(): string {
    return this.#secret;
  }
}

describe('toFunctionResponse', () => {
  test('takes a plain object as it is, as a copy of its own', () => {
    const value = {a: 1, b: ['x', null, true], c: {d: {}}};
    const response = responseOf(value);
    expect(response).toEqual(value);
    expect(response['b']).not.toBe(value.b);
    expect(responseOf({})).toEqual({});
    expect(responseOf(Object.assign(Object.create(null) as object, {a: 1}))).toEqual({a: 1});
  });

  test.each<[string, unknown, unknown]>([
    ['a string', 'sunny', 'sunny'],
    ['an empty string', '', ''],
    ['a number', 3, 3],
    ['false', false, false],
    ['a list', [1, 'a'], [1, 'a']],
    ['undefined', undefined, null],
    ['null', null, null],
    ['a function', () => 1, null],
    ['a symbol', Symbol('x'), null],
    ['NaN', Number.NaN, null],
    ['a BigInt', 12n, '12'],
    ['a Date', new Date(0), '1970-01-01T00:00:00.000Z'],
    ['a Map', new Map([['a', 1]]), {a: 1}],
    ['an instance of a class', new Money(), {amount: 5, currency: 'EUR'}],
    ['an object with a form of its own', {toJSON: () => ({a: 1})}, {a: 1}],
  ])('puts %s under `result`', (_name, value, result) => {
    expect(responseOf(value)).toEqual({result});
  });

  test('takes an Error that was returned for what it says, and never its stack', () => {
    expect(responseOf(new Error('no such city'))).toEqual({error: 'no such city'});
    const withJson = Object.assign(new Error('404'), {toJSON: () => ({stack: 'at x.js:1:1'})});
    expect(responseOf({ok: false, reason: withJson})).toEqual({ok: false, reason: {error: '404'}});
  });

  test('given its own response again changes nothing', () => {
    const {response} = toFunctionResponse([new Map([[1, 2n]]), {$ref: 'x'}, {inlineData: {mimeType: 'image/png', data: 'AAAA'}}]);
    expect(toFunctionResponse(response)).toEqual({response});
  });
});

describe('what JSON has no word for', () => {
  const holes: unknown[] = [1, , 3];
  test.each<[string, unknown, unknown]>([
    ['a BigInt, small or large', [1n, 2n ** 64n], ['1', '18446744073709551616']],
    ['NaN and the infinities', [Number.NaN, Infinity, -Infinity], [null, null, null]],
    ['minus zero', -0, 0],
    ['undefined, functions and symbols in a list', [undefined, () => 1, Symbol('x')], [null, null, null]],
    ['undefined, functions and symbols in an object', {a: undefined, b: () => 1, c: Symbol('x'), [Symbol('d')]: 1, e: 1}, {e: 1}],
    ['holes', holes, [1, null, 3]],
    [
      'a Map with string keys',
      new Map<string, unknown>([
        ['a', 1n],
        ['b', undefined],
      ]),
      {a: '1'},
    ],
    [
      'a Map with other keys',
      new Map<unknown, unknown>([
        [1, 'a'],
        [{k: 1}, 'b'],
      ]),
      [
        [1, 'a'],
        [{k: 1}, 'b'],
      ],
    ],
    ['a Set', new Set(['a', new Set([1])]), ['a', [1]]],
    ['a Date that is none', new Date(Number.NaN), null],
    ['a URL', new URL('https://x.example/a'), 'https://x.example/a'],
    ['boxed values', [Object('a'), Object(1), Object(true), Object(2n), Object(Symbol('x'))], ['a', 1, true, '2', null]],
    ['a RegExp', /x/, {}],
    ['a lone surrogate', 'cut \u{1F600}'.slice(0, -1), 'cut \uFFFD'],
    ['a lone surrogate in a key', {'\uD83D': 1}, {'\uFFFD': 1}],
    ['a toJSON with the key', {toJSON: (key: string) => `at ${key}`}, 'at x'],
    ['a toJSON that gives what JSON has no word for', {toJSON: () => new Map([['a', 1n]])}, {a: '1'}],
    ['a toJSON that gives nothing, in a list', [{toJSON: () => undefined}], [null]],
    ['a toJSON that is data', {toJSON: 'yes'}, {toJSON: 'yes'}],
    [
      'the key `$ref`, which Gemini takes for the name of a part',
      {$ref: '#/$defs/A', $defs: {A: {}}},
      {_$ref: '#/$defs/A', $defs: {A: {}}},
    ],
  ])('%s', (_name, value, json) => {
    expect(written(value)).toEqual(json);
  });

  test('an object whose toJSON gives itself is written by its fields', () => {
    expect(
      written({
        a: 1,
        toJSON(): unknown {
          return this;
        },
      }),
    ).toEqual({a: 1});
  });

  test('bytes are base64, other typed arrays are lists', () => {
    const bytes = new Uint8Array([0, 1, 254, 255]);
    expect(written([bytes, bytes.buffer, new DataView(bytes.buffer, 1, 2), Buffer.from('hi')])).toEqual([
      'AAH+/w==',
      'AAH+/w==',
      'Af4=',
      'aGk=',
    ]);
    expect(written(new SharedArrayBuffer(1))).toBe('AA==');
    expect(written([new Float64Array([1.5, Number.NaN]), new BigInt64Array([7n]), new Uint8ClampedArray([300])])).toEqual([
      [1.5, null],
      ['7'],
      [255],
    ]);
    const large = new Uint8Array(1_000_000).fill(7);
    expect(written(large)).toBe(Buffer.from(large).toString('base64'));
  });

  test('`__proto__` is a key like any other', () => {
    const response = responseOf(JSON.parse('{"__proto__": {"admin": true}, "a": 1}'));
    expect(Object.getPrototypeOf(response)).toBe(Object.prototype);
    expect(JSON.stringify(response)).toBe('{"__proto__":{"admin":true},"a":1}');
    expect(JSON.stringify(written(new Map([['__proto__', 1]])))).toBe('{"__proto__":1}');
  });

  test('an object of another realm is plain, too', async () => {
    const {runInNewContext} = await import('node:vm');
    expect(responseOf(runInNewContext('({a: [1], b: {c: 2}})'))).toEqual({a: [1], b: {c: 2}});
  });
});

describe('what has no end', () => {
  test('a cycle is marked where it closes, and a value that stands twice is written twice', () => {
    const node: Record<string, unknown> = {name: 'a'};
    node['self'] = node;
    node['map'] = new Map([['up', node]]);
    node['list'] = [node, new Set([node])];
    expect(responseOf(node)).toEqual({
      name: 'a',
      self: '[Circular]',
      map: {up: '[Circular]'},
      list: ['[Circular]', ['[Circular]']],
    });
    const shared = {a: 1};
    expect(responseOf({x: shared, y: [shared, shared]})).toEqual({x: {a: 1}, y: [{a: 1}, {a: 1}]});
  });

  test('a hundred thousand levels are cut, not a stack overflow', () => {
    let deep: unknown = 'bottom';
    for (let level = 0; level < 100_000; level++) deep = level % 2 === 0 ? [deep] : {deep};
    const text = JSON.stringify(responseOf({deep}));
    expect(text).toContain('"[Too deep]"');
    expect(text.length).toBeLessThan(1_000);
  });

  test('a graph that unfolds without end, and a list of four billion holes, are errors', () => {
    let wide: unknown = 'leaf';
    for (let level = 0; level < 60; level++) wide = {a: wide, b: wide};
    const message = 'The tool ran, but its result cannot be written as JSON: more than 1000000 values';
    expect(responseOf({wide})).toEqual({error: message});
    const holes: unknown[] = [];
    holes.length = 2 ** 32 - 1;
    expect(responseOf({holes})).toEqual({error: message});
    const endless: unknown = new Proxy(
      {},
      {
        get: (_target, key) => (key === 'a' || key === 'b' ? endless : undefined),
        ownKeys: () => ['a', 'b'],
        getOwnPropertyDescriptor: () => ({enumerable: true, configurable: true, value: 1}),
      },
    );
    expect(() => toFunctionResponse({endless})).not.toThrow();
  });
});

describe('what throws when it is read', () => {
  const {proxy, revoke} = Proxy.revocable({}, {});
  revoke();
  const thrower = (): never => {
    throw new Error('not here');
  };
  test.each<[string, unknown]>([
    [
      'a getter',
      {
        get a(): never {
          return thrower();
        },
      },
    ],
    ['a toJSON', {a: {toJSON: thrower}}],
    ['a Proxy', {a: new Proxy({}, {ownKeys: thrower})}],
    ['a getter of toJSON', Object.defineProperty({}, 'toJSON', {get: thrower})],
  ])('%s gives an error', (_name, value) => {
    expect(responseOf(value)).toEqual({error: 'The tool ran, but its result cannot be written as JSON: not here'});
  });

  test('a revoked Proxy and a value that throws undefined give one, too', () => {
    expect(responseOf(proxy)['error']).toMatch(/^The tool ran, but its result cannot be written as JSON: .*revoked/);
    const value = {
      get a(): never {
        throw undefined;
      },
    };
    expect(responseOf(value)).toEqual({error: 'The tool ran, but its result cannot be written as JSON: The tool threw undefined'});
  });
});

describe('media', () => {
  const png = createPartFromBase64('iVBORw0KGgo=', 'image/png');
  const pdf = createPartFromUri('https://files.example/1', 'application/pdf');

  test('a part, alone', () => {
    expect(toFunctionResponse(png)).toEqual({
      response: {result: {attachment: 1, mimeType: 'image/png'}},
      parts: [{inlineData: {mimeType: 'image/png', data: 'iVBORw0KGgo='}}],
    });
  });

  test('parts in a list: the text stays where it is', () => {
    expect(toFunctionResponse([{text: 'Two files:'}, png, pdf])).toEqual({
      response: {result: [{text: 'Two files:'}, {attachment: 1, mimeType: 'image/png'}, {attachment: 2, mimeType: 'application/pdf'}]},
      parts: [
        {inlineData: {mimeType: 'image/png', data: 'iVBORw0KGgo='}},
        {fileData: {mimeType: 'application/pdf', fileUri: 'https://files.example/1'}},
      ],
    });
  });

  test('a part within an object', () => {
    expect(toFunctionResponse({title: 'Sales', chart: png})).toEqual({
      response: {title: 'Sales', chart: {attachment: 1, mimeType: 'image/png'}},
      parts: [{inlineData: {mimeType: 'image/png', data: 'iVBORw0KGgo='}}],
    });
  });

  test('keeps its display name in the response, and what belongs to another model turn nowhere', () => {
    const part = {inlineData: {mimeType: 'image/png', data: 'AAAA', displayName: 'cat.png'}, thoughtSignature: 'c2ln', thought: false};
    expect(toFunctionResponse(part)).toEqual({
      response: {result: {attachment: 1, mimeType: 'image/png', displayName: 'cat.png'}},
      parts: [{inlineData: {mimeType: 'image/png', data: 'AAAA'}}],
    });
  });

  test('may be given as bytes', () => {
    expect(toFunctionResponse({inlineData: {mimeType: 'image/png', data: new Uint8Array([1, 2])}}).parts).toEqual([
      {inlineData: {mimeType: 'image/png', data: 'AQI='}},
    ]);
  });

  test('that is not base64 is an error, since every later request would be refused', () => {
    const response = {
      error:
        'The tool ran, but its result cannot be written as JSON: `inlineData.data` must be base64, without white space and without a `data:` prefix',
    };
    expect(toFunctionResponse({inlineData: {mimeType: 'image/png', data: 'data:image/png;base64,AAAA'}})).toEqual({response});
    expect(toFunctionResponse([{inlineData: {mimeType: 'image/png', data: 'AA AA'}}])).toEqual({response});
  });

  test.each([
    [{inlineData: {mimeType: 'image/png'}}],
    [{inlineData: {data: 'AAAA'}}],
    [{inlineData: 'AAAA'}],
    [{inlineData: {mimeType: 'image/png', data: 'AAAA'}, price: 5}],
    [{fileData: {mimeType: 'image/png', fileUri: ''}}],
    [{inlineData: null, fileData: null}],
  ])("%j is data of the tool's own", (value) => {
    expect(toFunctionResponse(value)).toEqual({response: value});
  });
});

describe('toErrorResponse', () => {
  const unreadable = {
    get message(): never {
      throw new Error('nested');
    },
  };
  test.each<[string, unknown, string]>([
    ['an Error', new Error('no such city'), 'no such city'],
    ['an Error without a message', new TypeError(), 'TypeError'],
    ['an Error of another kind', new DOMException('gone', 'NotFoundError'), 'gone'],
    ['a string', 'no such city', 'no such city'],
    ['an empty string', '', 'The tool failed and did not say why'],
    ['white space', ' \n', 'The tool failed and did not say why'],
    ['a number', 0, '0'],
    ['undefined', undefined, 'The tool threw undefined'],
    ['null', null, 'The tool threw null'],
    ['a symbol', Symbol('x'), 'Symbol(x)'],
    ['an object with a message', {message: 'no such city', stack: 'at x'}, 'no such city'],
    ['an object without one', {code: 42, at: new Date(0)}, '{"code":42,"at":"1970-01-01T00:00:00.000Z"}'],
    ['an object that cannot be read', unreadable, 'The tool failed, and what it threw cannot be read'],
    ['an Error whose message is no string', Object.assign(new Error('x'), {message: 42}), '42'],
    ['a stack as text', 'Error: x\n    at f (/srv/app.js:10:5)\n    at async /srv/b.js:1:2', 'Error: x'],
    ['a lone surrogate', new Error('\uD83D'), '\uFFFD'],
  ])('says of %s what it says', (_name, thrown, error) => {
    expect(toErrorResponse(thrown)).toEqual({error});
  });

  test.each([
    'f (/srv/app.js:10:5)',
    'async /srv/my app/b.js:1:2',
    'new City (file:///srv/app.js:10:5)',
    'async Object.f [as get] (C:\\app\\a.js:10:5)',
    'node:internal/process/task_queues:105:5',
    'eval (eval at f (/srv/app.js:1:1), <anonymous>:1:1)',
    'Array.map (<anonymous>)',
    'async Promise.all (index 0)',
    '[eval]:1:7',
    'evalmachine.<anonymous>:1:7',
    'f (wasm://wasm/0a:wasm-function[1]:0x1f)',
    'f (native)',
    'EventEmitter.emit (node:events:518:28)',
    'async <anonymous>',
  ])('leaves out the frame at %s', (frame) => {
    expect(toErrorResponse(new Error(`no city\n    at ${frame}\nhere`))).toEqual({error: 'no city\nhere'});
  });

  test.each([
    'position 5 (line 2)',
    '12:30:45',
    'noon (12:30:45)',
    'line:10:5',
    'order.sql:10:5',
    'the server (see https://a.example)',
    'once',
  ])('keeps a line that says at %s', (place) => {
    const message = `Bad query:\n    at ${place}\nfix it`;
    expect(toErrorResponse(new Error(message))).toEqual({error: message});
  });

  test('reads a long message that looks like frames in no time', () => {
    const started = performance.now();
    toErrorResponse(new Error(`no city${`\n at ${'(/'.repeat(5_000)}`.repeat(50)}`));
    expect(performance.now() - started).toBeLessThan(5_000);
  });

  test('never says a stack', () => {
    const error = new Error('outer', {cause: new Error('inner')});
    error.message = error.stack ?? '';
    expect(toErrorResponse(error).error).toBe('Error: outer');
  });
});

describe('whatever a tool gives', () => {
  const scalar = fc.oneof(
    fc.anything(),
    fc.bigInt(),
    fc.date({noInvalidDate: false}),
    fc.constantFrom(() => 1, Symbol('s'), -0),
    fc.string({unit: 'binary'}),
    fc.uint8Array(),
  );
  const {value: anyValue} = fc.letrec<{value: unknown}>((tie) => ({
    value: fc.oneof(
      {maxDepth: 5, withCrossShrink: true},
      scalar,
      fc.array(tie('value'), {maxLength: 4}),
      fc.sparseArray(tie('value'), {maxLength: 6}),
      fc.dictionary(fc.oneof(fc.string(), fc.constantFrom('__proto__', '$ref', 'toJSON', 'inlineData', 'constructor')), tie('value'), {
        maxKeys: 4,
      }),
      fc.array(fc.tuple(tie('value'), tie('value')), {maxLength: 3}).map((entries) => new Map(entries)),
      fc.array(tie('value'), {maxLength: 3}).map((items) => new Set(items)),
      tie('value').map((item) => ({toJSON: () => item})),
      tie('value').map((item) => Object.assign(new Error('e'), {item})),
    ),
  }));

  test('the response is one JSON object', () => {
    fc.assert(
      fc.property(anyValue, (value) => {
        const {response} = toFunctionResponse(value);
        expect(Object.getPrototypeOf(response)).toBe(Object.prototype);
        // Not `toStrictEqual`, which asks a key named `constructor` for the type.
        deepStrictEqual(JSON.parse(JSON.stringify(response)), response);
        expect(JSON.stringify(response)).not.toMatch(/\\ud[89a-f]/);
      }),
      {numRuns: 500},
    );
  });

  test('plain JSON comes out as it went in', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (value) => {
        fc.pre(!JSON.stringify(value).includes('$ref'));
        deepStrictEqual(toFunctionResponse(value).response, JSON.parse(JSON.stringify(value)));
      }),
      {numRuns: 300},
    );
  });

  test('what it threw is one sentence', () => {
    fc.assert(
      fc.property(anyValue, (thrown) => {
        const response = toErrorResponse(thrown);
        expect(Object.keys(response)).toEqual(['error']);
        expect(response.error).toMatch(/\S/);
      }),
      {numRuns: 300},
    );
  });
});
