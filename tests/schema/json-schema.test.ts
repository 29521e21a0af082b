import {toStandardJsonSchema} from '@valibot/to-json-schema';
import {type} from 'arktype';
import * as v from 'valibot';
import {describe, expect, test} from 'vitest';
import {z} from 'zod';
import * as mini from 'zod/mini';
import {InvalidOptionError} from '../../lib/errors.ts';
import {toGeminiSchema} from '../../lib/gemini/gemini-schema.ts';
import {toJsonSchema as toCheckedSchema} from '../../lib/schema/json-schema.ts';
import type {JsonSchema} from '../../lib/schema/schemas-within.ts';
import type {StandardSchema} from '../../lib/schema/standard-schema.ts';

/** A schema as a tool declares it, and as Gemini is sent it. */
function toJsonSchema(schema: StandardSchema | JsonSchema, option: string): JsonSchema {
  return toGeminiSchema(toCheckedSchema(schema, option)) as JsonSchema;
}

/** The schema of the one property `x`, as it reaches the model. */
function property(schema: StandardSchema | JsonSchema): unknown {
  return (toJsonSchema(schema, 't.parameters')['properties'] as Record<string, unknown>)['x'];
}

function messageOf(schema: unknown): string {
  try {
    toJsonSchema(schema as JsonSchema, 't.parameters');
  } catch (thrown) {
    if (thrown instanceof InvalidOptionError) return thrown.message;
  }
  throw new Error('Nothing was refused');
}

const CITY = {type: 'object', properties: {city: {type: 'string'}, days: {type: 'integer'}}, required: ['city']};

describe('a library schema becomes what goes into it', () => {
  test.each([
    ['zod', z.object({city: z.string(), days: z.int32().optional()})],
    ['zod/mini through z.toJSONSchema', z.toJSONSchema(mini.object({city: mini.string(), days: mini.optional(mini.int32())}))],
    ['arktype', type({city: 'string', 'days?': 'number.integer'})],
    ['valibot', toStandardJsonSchema(v.object({city: v.string(), days: v.optional(v.pipe(v.number(), v.integer()))}))],
  ])('%s', (_name, schema) => {
    const json = toJsonSchema(schema, 't.parameters');
    expect(json).toMatchObject(CITY);
    expect(json).not.toHaveProperty('$schema');
    expect(Object.isFrozen(json) && Object.isFrozen(json['properties'])).toBe(true);
  });

  test('a default and a transform are told from their input side', () => {
    const schema = z.object({days: z.number().default(3), on: z.string().transform((text) => new Date(text))});
    expect(toJsonSchema(schema, 't.parameters')).toEqual({
      type: 'object',
      properties: {days: {type: 'number', default: 3}, on: {type: 'string'}},
      required: ['on'],
    });
  });

  test('descriptions stay', () => {
    expect(property(z.object({x: z.string().describe('The town')}))).toEqual({type: 'string', description: 'The town'});
  });
});

describe('a schema without a JSON form says what to pass', () => {
  test.each([
    [
      'valibot alone',
      v.object({city: v.string()}),
      'Expected `t.parameters` to be a schema with a JSON form (wrap it in `toStandardJsonSchema` of @valibot/to-json-schema), got "a validator of valibot only" (string)',
    ],
    ['zod/mini alone', mini.object({city: mini.string()}), 'use zod 4.2 or later, and with zod/mini pass `z.toJSONSchema(schema)`'],
    [
      "a validator of one's own",
      {'~standard': {version: 1, vendor: 'home', validate: (value: unknown) => ({value})}},
      'a library whose `~standard` has `jsonSchema`, or a plain JSON Schema object',
    ],
    ['a date in zod', z.object({on: z.date()}), 'a schema that JSON Schema can express (Date cannot be represented in JSON Schema)'],
    ['a date in valibot', toStandardJsonSchema(v.object({on: v.date()})), 'The "date" schema cannot be converted to JSON Schema'],
  ])('%s', (_name, schema, message) => {
    expect(messageOf(schema)).toContain(message);
  });
});

describe('the root describes one object', () => {
  test.each([
    ['a string', z.string(), 'got "string" (string)'],
    ['anything', z.any(), 'got "anything" (string)'],
    ['a union', z.union([z.object({a: z.string()}), z.object({b: z.string()})]), 'got "anyOf" (string)'],
    ['a nullable object', z.object({a: z.string()}).nullable(), 'got "anyOf" (string)'],
    ['a list', type('string[]'), 'got "array" (string)'],
  ])('not %s', (_name, schema, got) => {
    expect(messageOf(schema)).toBe(`Expected \`t.parameters\` to be a schema of one object, whose properties are the arguments, ${got}`);
  });

  test('an object of free keys, and one without any, are objects', () => {
    expect(toJsonSchema(z.record(z.string(), z.number()), 't')).toMatchObject({type: 'object', additionalProperties: {type: 'number'}});
    expect(toJsonSchema(z.object({}), 't')).toEqual({type: 'object', properties: {}});
    expect(toJsonSchema({properties: {}}, 't')).toEqual({type: 'object', properties: {}});
  });

  test('an intersection is merged into one', () => {
    const merged = {type: 'object', properties: {a: {type: 'string'}, b: {type: 'string'}}, required: ['a', 'b']};
    expect(toJsonSchema(z.object({a: z.string()}).and(z.object({b: z.string()})), 't')).toEqual(merged);
    expect(toJsonSchema(toStandardJsonSchema(v.intersect([v.object({a: v.string()}), v.object({b: v.string()})])), 't')).toEqual(merged);
    const one = {properties: {a: {type: 'string'}}, required: ['a']};
    const shared = {$defs: {one}, allOf: [{$ref: '#/$defs/one'}, {properties: {b: {type: 'string'}}, required: ['b']}]};
    expect(toJsonSchema(shared, 't')).toEqual(merged);
  });
});

describe('shapes that models refuse or do not read get one that they accept', () => {
  const variants = {
    anyOf: [
      {type: 'object', properties: {k: {type: 'string', enum: ['a']}}, required: ['k']},
      {type: 'object', properties: {k: {type: 'string', enum: ['b']}}, required: ['k']},
    ],
  };
  test.each<[string, StandardSchema | JsonSchema, unknown]>([
    ['a union', z.object({x: z.union([z.string().min(2), z.number()])}), {anyOf: [{type: 'string', minLength: 2}, {type: 'number'}]}],
    ['a union of types', z.object({x: z.union([z.string(), z.number()])}), {type: ['string', 'number']}],
    ['a tagged union', z.object({x: z.discriminatedUnion('k', [z.object({k: z.literal('a')}), z.object({k: z.literal('b')})])}), variants],
    [
      'a variant',
      toStandardJsonSchema(v.object({x: v.variant('k', [v.object({k: v.literal('a')}), v.object({k: v.literal('b')})])})),
      variants,
    ],
    ['a nullable object', z.object({x: z.object({}).nullable()}), {anyOf: [{type: 'object', properties: {}}, {type: 'null'}]}],
    ['a number as constant', z.object({x: z.literal(3)}), {type: 'number', enum: [3]}],
    ['a constant without a type', toStandardJsonSchema(v.object({x: v.literal(3)})), {type: 'integer', enum: [3]}],
    ['null as constant', z.object({x: z.null()}), {type: 'null'}],
    ['numbers to choose from', type({x: '1 | 2'}), {type: 'integer', enum: [1, 2]}],
    ['fractions to choose from', {properties: {x: {enum: [1, 2.5]}}}, {type: 'number', enum: [1, 2.5]}],
    ['mixed values to choose from', z.object({x: z.literal([1, 'c', null])}), {type: ['integer', 'string', 'null'], enum: [1, 'c', null]}],
    [
      'a tuple of zod',
      z.object({x: z.tuple([z.string(), z.number()])}),
      {type: 'array', prefixItems: [{type: 'string'}, {type: 'number'}], minItems: 2, maxItems: 2},
    ],
    [
      'a tuple of arktype',
      type({x: ['string', 'number']}),
      {type: 'array', prefixItems: [{type: 'string'}, {type: 'number'}], minItems: 2, maxItems: 2},
    ],
    [
      'a tuple of an older draft',
      {properties: {x: {items: [{type: 'string'}], additionalItems: {type: 'number'}}}},
      {type: 'array', prefixItems: [{type: 'string'}], items: {type: 'number'}},
    ],
    [
      'a missing type of an object',
      {properties: {x: {properties: {a: {type: 'string'}}}}},
      {type: 'object', properties: {a: {type: 'string'}}},
    ],
    ['a missing type of a list', {properties: {x: {items: {type: 'string'}}}}, {type: 'array', items: {type: 'string'}}],
    ['a boolean schema', {properties: {x: true}}, {}],
    [
      'a required property that is not described',
      {properties: {x: {type: 'object', required: ['a']}}},
      {type: 'object', properties: {a: {}}, required: ['a']},
    ],
    [
      'a required property that the free ones describe',
      {properties: {x: {required: ['a'], additionalProperties: {type: 'string'}}}},
      {type: 'object', properties: {a: {type: 'string'}}, required: ['a'], additionalProperties: {type: 'string'}},
    ],
    [
      'a property named as a keyword',
      {properties: {x: {properties: {required: {const: 1}, items: {}}}}},
      {
        type: 'object',
        properties: {required: {type: 'integer', enum: [1]}, items: {}},
      },
    ],
    [
      'data that looks like a schema',
      {properties: {x: {default: {const: 1}, enum: [{oneOf: []}]}}},
      {default: {const: 1}, enum: [{oneOf: []}]},
    ],
    [
      'keywords that no model reads',
      {properties: {x: {type: 'string', contentEncoding: 'base64'}}},
      {type: 'string', contentEncoding: 'base64'},
    ],
  ])('%s', (_name, schema, accepted) => {
    expect(property(schema)).toEqual(accepted);
  });
});

describe('references', () => {
  const address = {type: 'object', properties: {street: {type: 'string'}}, required: ['street']};

  test('one that stands alone stays, with its definition', () => {
    const schema = {type: 'object', properties: {x: {$ref: '#/$defs/Address'}}, $defs: {Address: address}};
    expect(toJsonSchema(schema, 't')).toEqual(schema);
  });

  test('definitions of an older draft move to $defs', () => {
    const schema = {type: 'object', properties: {x: {$ref: '#/definitions/Address'}}, definitions: {Address: address}};
    expect(toJsonSchema(schema, 't')).toEqual({type: 'object', properties: {x: {$ref: '#/$defs/Address'}}, $defs: {Address: address}});
  });

  test('one with a description of its own is replaced by what it points to', () => {
    const Address = z.object({street: z.string()}).meta({id: 'Address', description: 'An address'});
    expect(toJsonSchema(z.object({x: Address.describe('Where to send it')}), 't')).toEqual({
      type: 'object',
      properties: {x: {...address, description: 'Where to send it'}},
      required: ['x'],
    });
  });

  test('a root that is one is written out', () => {
    expect(toJsonSchema(z.object({street: z.string()}).meta({id: 'Street'}), 't')).toEqual(address);
  });

  test('a property that leads back to its own object is not required', () => {
    const Node = z.object({
      name: z.string(),
      get children(): z.ZodArray<typeof Node> {
        return z.array(Node);
      },
    });
    const children = (ref: string): object => ({type: 'array', items: {$ref: ref}});
    expect(toJsonSchema(Node, 't')).toEqual({
      type: 'object',
      properties: {name: {type: 'string'}, children: children('#')},
      required: ['name'],
    });
    const tree = toJsonSchema(z.object({tree: Node}), 't');
    const [name, ref] = [Object.keys(tree['$defs'] as object)[0]!, (tree['properties'] as {tree: {$ref: string}}).tree.$ref];
    expect(tree).toEqual({
      type: 'object',
      properties: {tree: {$ref: `#/$defs/${name}`}},
      required: ['tree'],
      $defs: {[name]: {type: 'object', properties: {name: {type: 'string'}, children: children(ref)}, required: ['name']}},
    });
  });

  test('a cycle over two definitions is found', () => {
    const schema = type.module({node: {name: 'string', children: 'node[]'}}).node;
    const json = toJsonSchema(schema, 't');
    expect(json).toMatchObject({type: 'object', properties: {name: {type: 'string'}}, required: ['name']});
  });

  test.each([
    ['one outside', {properties: {x: {$ref: 'https://x.example/y.json'}}}, 'self-contained, each `$ref` being `#` or `#/$defs/...`'],
    ['one into the middle', {properties: {x: {$ref: '#/properties/y'}, y: {}}}, 'self-contained'],
    ['one to nothing', {properties: {x: {$ref: '#/$defs/Nobody'}}}, 'complete: `#/$defs/Nobody` is referred to'],
  ])('%s is refused', (_name, schema, message) => {
    expect(messageOf(schema)).toContain(message);
  });
});

describe('a JSON Schema that cannot be meant is refused', () => {
  const cyclic: Record<string, unknown> = {type: 'object'};
  cyclic['properties'] = {x: cyclic};
  test.each([
    ['an unknown type', {properties: {x: {type: 'strnig'}}}, 'Expected `t.parameters.properties.x.type` to be one of array, boolean,'],
    ['a genai type within', {type: 'object', properties: {x: {type: 'STRING'}}}, 'a genai Schema is in upper case, from its root on'],
    [
      'a forbidden property that is required',
      {type: 'object', required: ['a'], additionalProperties: false},
      'names of properties that the schema allows, got "a"',
    ],
    [
      'required as a flag',
      {properties: {x: {type: 'string', required: true}}},
      'Expected `t.parameters.properties.x.required` to be a list of property names, got true',
    ],
    ['no schema as property', {properties: {x: 'string'}}, 'Expected `t.parameters.properties.x` to be a JSON Schema, got "string"'],
    [
      'no list of schemas',
      {properties: {x: {anyOf: {type: 'string'}}}},
      'Expected `t.parameters.properties.x.anyOf` to be a list of schemas, got an object',
    ],
    ['a schema that holds itself', cyclic, 'free of cycles'],
    ['no schema', 'object', 'Expected `t.parameters` to be a JSON Schema, got "object" (string)'],
  ])('%s', (_name, schema, message) => {
    expect(messageOf(schema)).toContain(message);
  });
});
