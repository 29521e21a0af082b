import {Type} from '@google/genai';
import {toStandardJsonSchema} from '@valibot/to-json-schema';
import {type} from 'arktype';
import * as v from 'valibot';
import {describe, expect, test} from 'vitest';
import {z} from 'zod';
import {compileParameters} from '../../lib/schema/parameters.ts';
import {InvalidArgumentsError} from '../../lib/schema/invalid-arguments-error.ts';
import {validateArguments} from '../../lib/schema/validate-arguments.ts';

async function refusalOf(schema: unknown, args: unknown): Promise<InvalidArgumentsError> {
  try {
    await validateArguments(compileParameters(schema, 't.parameters'), args);
  } catch (thrown) {
    if (thrown instanceof InvalidArgumentsError) return thrown;
    throw thrown;
  }
  throw new Error('Nothing was refused');
}

const JSON_SCHEMA = {
  type: 'object',
  properties: {
    city: {type: 'string'},
    days: {type: 'integer'},
    unit: {type: 'string', enum: ['C', 'F']},
    at: {type: ['string', 'null']},
    stops: {type: 'array', items: {type: 'object', properties: {name: {type: 'string'}}, required: ['name']}},
    span: {type: 'array', prefixItems: [{type: 'number'}, {type: 'string'}]},
    who: {anyOf: [{type: 'string'}, {type: 'object', properties: {id: {type: 'number'}}, required: ['id']}]},
    next: {$ref: '#'},
    place: {$ref: '#/$defs/Place'},
  },
  required: ['city'],
  $defs: {Place: {type: 'object', properties: {lat: {type: 'number'}}}},
};
const GENAI_SCHEMA = {
  type: Type.OBJECT,
  properties: {
    city: {type: Type.STRING, nullable: true},
    floor: {type: Type.INTEGER, enum: ['1', '2']},
    tags: {type: Type.ARRAY, items: {type: Type.STRING}},
  },
  required: ['city'],
};

describe('a validator', () => {
  test('gives what the body gets: defaults, transforms, asynchronous ones too', async () => {
    const sync = compileParameters(z.object({city: z.string().trim(), days: z.number().default(3)}), 't');
    expect(validateArguments(sync, {city: ' Oslo '})).toEqual({city: 'Oslo', days: 3});
    const late = compileParameters(z.object({city: z.string().refine(async (city) => city !== 'Atlantis', 'is sunk')}), 't');
    const promise = validateArguments(late, {city: 'Oslo'});
    expect(promise).toBeInstanceOf(Promise);
    expect(await promise).toEqual({city: 'Oslo'});
    await expect(async () => validateArguments(late, {city: 'Atlantis'})).rejects.toThrow('Invalid arguments: city: is sunk.');
  });

  test.each([
    [
      'zod',
      z.object({city: z.string(), when: z.object({days: z.array(z.number())}).optional()}),
      'Invalid arguments: city: Invalid input: expected string, received undefined; ' +
        'when.days[1]: Invalid input: expected number, received string. Expected: {city: string, when?: {days: number[]}}',
    ],
    [
      'arktype',
      type({city: 'string', 'when?': {days: 'number[]'}}),
      'Invalid arguments: city must be a string (was missing); when.days[1] must be a number (was a string). ' +
        'Expected: {city: string, when?: {days: number[]}}',
    ],
    [
      'valibot',
      toStandardJsonSchema(v.object({city: v.string(), when: v.optional(v.object({days: v.array(v.number())}))})),
      'Invalid arguments: city: Invalid key: Expected "city" but received undefined; ' +
        'when.days[1]: Invalid type: Expected number but received "x". Expected: {city: string, when?: {days: number[]}}',
    ],
  ])('of %s names each issue with its path, and the schema in short', async (_name, schema, message) => {
    const refusal = await refusalOf(schema, {when: {days: [1, 'x']}});
    expect(refusal.message).toBe(message);
    expect(refusal.code).toBe('INVALID_ARGUMENTS');
    expect(refusal.issues).toHaveLength(2);
  });

  test('that finds a hundred issues tells ten', async () => {
    const refusal = await refusalOf(z.object({n: z.array(z.number())}), {n: Array.from({length: 100}, () => 'x')});
    expect(refusal.issues).toHaveLength(100);
    expect(refusal.message).toMatch(/n\[9\]: [^;]*; and 90 more\. Expected: \{n: number\[\]\}$/);
  });

  test('whose own code throws is not blamed on the model', async () => {
    const broken = z.object({
      city: z.string().refine(() => {
        throw new TypeError('oops');
      }),
    });
    await expect(refusalOf(broken, {city: 'Oslo'})).rejects.toThrow(new TypeError('oops'));
    const text = z.object({city: z.string()}).transform(({city}) => city);
    await expect(refusalOf(text, {city: 'Oslo'})).rejects.toThrow('Expected `parameters` to be a schema that gives an object, got "Oslo"');
  });
});

describe('a schema without a validator', () => {
  test.each([
    [JSON_SCHEMA, {city: 'Oslo', unknown: 1}],
    [
      JSON_SCHEMA,
      {city: 'Oslo', days: 2, unit: 'C', at: null, stops: [{name: 'a'}], span: [1, 'x', true], who: {id: 1}, next: {city: 'b'}},
    ],
    [GENAI_SCHEMA, {city: null, floor: 2, tags: []}],
    [{type: 'object', properties: {constructor: {type: 'string'}}}, {}],
  ])('%# lets fitting arguments through as they are', (schema, args) => {
    expect(validateArguments(compileParameters(schema, 't'), args)).toBe(args);
  });

  test.each([
    [JSON_SCHEMA, {}, ['city: is missing']],
    [JSON_SCHEMA, {city: 5, days: 1.5}, ['city: must be string, got 5 (number)', 'days: must be integer, got 1.5 (number)']],
    [JSON_SCHEMA, {city: 'a', unit: 'K'}, ['unit: must be one of ["C","F"], got "K" (string)']],
    [JSON_SCHEMA, {city: 'a', at: 4}, ['at: must be string or null, got 4 (number)']],
    [JSON_SCHEMA, {city: 'a', stops: [{name: 'x'}, {}, 3]}, ['stops[1].name: is missing', 'stops[2]: must be object, got 3 (number)']],
    [JSON_SCHEMA, {city: 'a', span: ['x', 'y']}, ['span[0]: must be number, got "x" (string)']],
    [JSON_SCHEMA, {city: 'a', who: {}}, ['who: must be one of its alternatives, got an object (Object)']],
    [JSON_SCHEMA, {city: 'a', next: {next: {}}}, ['next.city: is missing', 'next.next.city: is missing']],
    [JSON_SCHEMA, {city: 'a', place: {lat: 'x'}}, ['place.lat: must be number, got "x" (string)']],
    [GENAI_SCHEMA, {city: 'a', floor: 3}, ['floor: must be one of ["1","2"], got 3 (number)']],
    [GENAI_SCHEMA, {city: 'a', tags: [null]}, ['tags[0]: must be string, got null']],
    [{type: 'object', properties: {}, required: ['toString']}, {}, ['toString: is missing']],
    [{properties: {a: {const: 3}}}, {a: 4}, ['a: must be one of [3], got 4 (number)']],
    [{properties: {a: {oneOf: [{type: 'string'}, {const: 1}]}}}, {a: 2}, ['a: must be one of its alternatives, got 2 (number)']],
    [
      {
        allOf: [
          {type: 'object', required: ['a']},
          {type: 'object', required: ['b']},
        ],
      },
      {},
      ['a: is missing', 'b: is missing'],
    ],
    [
      {properties: {a: {items: [{type: 'string'}], additionalItems: {type: 'number'}}}},
      {a: [1, 'x']},
      ['a[0]: must be string, got 1 (number)', 'a[1]: must be number, got "x" (string)'],
    ],
    [
      {properties: {a: {$ref: '#/definitions/A~1B'}}, definitions: {'A/B': {type: 'string'}}},
      {a: 1},
      ['a: must be string, got 1 (number)'],
    ],
    [{properties: {a: true, 'b c': {type: 'string'}}}, {a: 1, 'b c': 2}, ['["b c"]: must be string, got 2 (number)']],
  ])('%# refuses the others', async (schema, args, issues) => {
    expect((await refusalOf(schema, args)).issues).toEqual(issues);
  });

  test('is told in short, too', async () => {
    expect((await refusalOf(JSON_SCHEMA, {})).message).toBe(
      'Invalid arguments: city: is missing. Expected: {city: string, days?: integer, unit?: "C" | "F", at?: string | null, ' +
        'stops?: {name: string}[], span?: [number, string], who?: string | {id: number}, next?: object, place?: Place}',
    );
    expect((await refusalOf(GENAI_SCHEMA, {})).message).toBe(
      'Invalid arguments: city: is missing. Expected: {city: string | null, floor?: "1" | "2", tags?: string[]}',
    );
    const words = {
      $defs: {C: {type: 'string'}},
      required: ['a', 'b', 'c', 'd', 'e'],
      properties: {
        a: {const: 'x'},
        b: {oneOf: [{type: 'string'}, {items: {type: 'number'}}]},
        c: {allOf: [{properties: {p: {}}}, {$ref: '#/$defs/C'}]},
        d: {items: [{type: 'string'}, true]},
        e: {type: 'array', items: true},
      },
    };
    expect((await refusalOf(words, {a: 'x', b: 'y', d: [], e: []})).message).toBe(
      'Invalid arguments: c: is missing. Expected: {a: "x", b: string | number[], c: {p?: any} & C, d: [string, any], e: any[]}',
    );
    const wide = {type: 'object', properties: Object.fromEntries(Array.from({length: 200}, (_, at) => [`p${at}`, {}])), required: ['p0']};
    expect((await refusalOf(wide, {})).message.length).toBeLessThan(600);
  });
});

describe('arguments that are no object', () => {
  const schemas: [string, unknown][] = [
    ['a validator', z.object({city: z.string()})],
    ['a JSON Schema', JSON_SCHEMA],
    ['a genai Schema', GENAI_SCHEMA],
  ];

  test.each(schemas)('are never coerced, with %s', async (_name, schema) => {
    for (const args of ['{bad', '{"city":"Oslo"}', 'x', [], [{}], 5, true]) {
      const refusal = await refusalOf(schema, args);
      expect(refusal.message).toMatch(/^Invalid arguments: must be an object, got .*\. Expected: \{city: string/);
    }
  });

  test.each(schemas)('and missing are refused where one is required, with %s', async (_name, schema) => {
    for (const args of [undefined, null, '']) expect((await refusalOf(schema, args)).issues[0]).toMatch(/^city: /);
  });

  test.each([
    ['no parameters', undefined],
    ['an empty object of zod', z.object({})],
    ['a strict one', z.strictObject({})],
    ['an empty JSON Schema', {type: 'object'}],
    ['an empty genai Schema', {type: Type.OBJECT}],
    ['optional ones only', z.object({city: z.string().optional()})],
  ])('but missing are an empty object, with %s', (_name, schema) => {
    for (const args of [undefined, null, '', {}]) expect(validateArguments(compileParameters(schema, 't'), args)).toEqual({});
  });

  test('are refused by a tool without parameters, too', async () => {
    expect((await refusalOf(undefined, '{bad')).message).toBe('Invalid arguments: must be an object, got "{bad" (string).');
    expect(validateArguments(compileParameters(undefined, 't'), {extra: 1})).toEqual({extra: 1});
  });
});
