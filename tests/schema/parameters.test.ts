import {Type} from '@google/genai';
import {describe, expect, test} from 'vitest';
import {z} from 'zod';
import {InvalidOptionError} from '../../lib/errors.ts';
import {compileParameters} from '../../lib/schema/parameters.ts';

function messageOf(schema: unknown): string {
  try {
    compileParameters(schema, 't.parameters');
  } catch (thrown) {
    if (thrown instanceof InvalidOptionError) return thrown.message;
  }
  throw new Error('Nothing was refused');
}

describe('compileParameters', () => {
  test('puts each kind of schema where the model reads it', () => {
    const json = {type: 'object', properties: {city: {type: 'string'}}};
    const genai = {type: Type.OBJECT, properties: {city: {type: Type.STRING}}};
    expect(compileParameters(undefined, 't').declaration).toEqual({});
    expect(compileParameters(z.object({city: z.string().optional()}), 't').declaration).toEqual({parametersJsonSchema: json});
    expect(compileParameters(json, 't').declaration).toEqual({parametersJsonSchema: json});
    expect(compileParameters(genai, 't').declaration).toEqual({parameters: genai});
  });

  test('leaves out a genai object without properties, which the server refuses', () => {
    expect(compileParameters({type: Type.OBJECT}, 't').declaration).toEqual({});
    expect(compileParameters({type: Type.OBJECT, properties: {}}, 't').declaration).toEqual({});
  });

  test('keeps a frozen copy: a schema that is changed later changes nothing', () => {
    const genai = {type: Type.OBJECT, properties: {city: {type: Type.STRING}}};
    const {declaration} = compileParameters(genai, 't');
    genai.properties.city.type = Type.NUMBER;
    expect(declaration).toEqual({parameters: {type: 'OBJECT', properties: {city: {type: 'STRING'}}}});
    expect(Object.isFrozen(declaration.parameters?.properties)).toBe(true);
  });

  test.each([[null], ['string'], [5], [[]], [() => {}], [{}], [{city: z.string()}], [new Map()]])('refuses %o', (schema) => {
    expect(messageOf(schema)).toMatch(/^Expected `t.parameters` to be a Standard Schema \(zod, arktype, valibot ...\), a JSON Schema with/);
  });

  test.each([
    [
      'a required property that is not described',
      {required: ['town']},
      'Expected `t.parameters.required` to be names of its `properties`, got "town"',
    ],
    [
      'a list without items',
      {properties: {x: {type: Type.ARRAY}}},
      'Expected `t.parameters.properties.x.items` to be the schema of the items, got undefined',
    ],
    [
      'numbers in an enum',
      {properties: {x: {type: Type.INTEGER, enum: [1]}}},
      'Expected `t.parameters.properties.x.enum` to be strings, also for numbers',
    ],
    [
      'a type beside anyOf',
      {properties: {x: {type: Type.STRING, anyOf: [{type: Type.STRING}]}}},
      '`t.parameters.properties.x.type` to be absent beside `anyOf`',
    ],
    [
      'properties of no object',
      {properties: {x: {properties: {}}}},
      'Expected `t.parameters.properties.x.type` to be OBJECT beside `properties`',
    ],
    ['an unknown type', {properties: {x: {type: 'TEXT'}}}, 'Expected `t.parameters.properties.x.type` to be one of ARRAY, BOOLEAN'],
    ['no schema', {properties: {x: null}}, 'Expected `t.parameters.properties.x` to be a genai Schema, got null'],
    ['a fault within a list', {properties: {x: {type: Type.ARRAY, items: {type: Type.ARRAY}}}}, '`t.parameters.properties.x.items.items`'],
    ['a fault within anyOf', {properties: {x: {anyOf: [{type: Type.ARRAY}]}}}, '`t.parameters.properties.x.anyOf[0].items`'],
  ])('refuses a genai Schema with %s, before a server does', (_name, schema, message) => {
    expect(messageOf({type: Type.OBJECT, ...schema})).toContain(message);
  });
});
