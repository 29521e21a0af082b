import {expect, test} from 'vitest';
import {toGeminiSchema} from '../../lib/gemini/gemini-schema.ts';
import {toGenai} from '../../lib/gemini/to-genai.ts';

/** What goes to the server of a declaration that some tool made by itself. */
function declared(parametersJsonSchema: unknown): unknown {
  const tools = [{functionDeclarations: [{name: 'f', parametersJsonSchema}, {name: 'g'}]}];
  const {config} = toGenai({contents: [], config: {tools}}, 'm', false, new AbortController().signal);
  return config?.tools;
}

test('a schema that a tool declares by itself is brought into the shape that Gemini accepts', () => {
  expect(declared({$schema: 'x', properties: {a: {const: 1}}, required: ['a', 'b']})).toEqual([
    {
      functionDeclarations: [
        {
          name: 'f',
          parametersJsonSchema: {type: 'object', properties: {a: {type: 'integer', enum: [1]}, b: {}}, required: ['a', 'b']},
        },
        {name: 'g'},
      ],
    },
  ]);
});

test.each([[{properties: {x: {$ref: 'https://x.example/y.json'}}}], [{properties: 5, anyOf: {}}], ['text'], [null], [[1]]])(
  '%j, which cannot be followed, is sent as it is',
  (schema) => {
    expect(toGeminiSchema(schema)).toBe(schema);
  },
);

test('a frozen schema is shaped once, another by what it is at the time', () => {
  const frozen = Object.freeze({properties: {a: {const: 1}}});
  expect(toGeminiSchema(frozen)).toBe(toGeminiSchema(frozen));
  const loose: {properties: Record<string, object>} = {properties: {a: {type: 'string'}}};
  expect(toGeminiSchema(loose)).toEqual({type: 'object', properties: {a: {type: 'string'}}});
  loose.properties['b'] = {type: 'number'};
  expect(toGeminiSchema(loose)).toEqual({type: 'object', properties: {a: {type: 'string'}, b: {type: 'number'}}});
});

test('an intersection keeps every property, and what is no object in it', () => {
  const schema = {
    allOf: [
      {type: 'object', properties: {a: {type: 'string'}}, required: ['a'], minProperties: 1},
      {type: 'object', properties: {a: {minLength: 2}, b: {}}, additionalProperties: false},
      {anyOf: [{required: ['b']}]},
    ],
  };
  expect(toGeminiSchema(schema)).toEqual({
    type: 'object',
    properties: {a: {type: 'string', minLength: 2}, b: {}},
    required: ['a'],
    allOf: [{anyOf: [{type: 'object', properties: {b: {}}, required: ['b']}]}],
  });
});
