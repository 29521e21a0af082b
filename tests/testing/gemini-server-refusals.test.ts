import {existsSync, readFileSync} from 'node:fs';
import {afterAll, beforeAll, describe, expect, test} from 'vitest';
import {answer, GeminiServer} from '../../lib/testing/index.ts';

let server: GeminiServer;
beforeAll(async () => {
  server = await GeminiServer.start({apiKey: 'right'});
});
afterAll(() => server.close());

interface ErrorBody {
  readonly error: {
    readonly code: number;
    readonly status: string;
    readonly message: string;
    readonly details?: readonly Record<string, unknown>[];
  };
}

interface Post {
  readonly path?: string;
  readonly headers?: Record<string, string>;
  readonly to?: GeminiServer;
}

/** Posts a body; gives the error, or `undefined` if it was served. */
async function post(
  body: unknown,
  {path = '/v1beta/models/gemini-2.5-flash:generateContent', headers, to = server}: Post = {},
): Promise<ErrorBody['error'] | undefined> {
  const unused = to.unusedReplies;
  to.reply(answer('served'));
  const response = await fetch(`${to.url}${path}`, {
    method: 'POST',
    headers: {'x-goog-api-key': 'right', ...headers},
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
  const received = (await response.json()) as ErrorBody;
  if (response.ok) return undefined;
  expect(to.requests.at(-1)?.refusal).toBe(received.error.message);
  // A refused request takes no reply.
  expect(to.unusedReplies).toBe(unused + 1);
  expect(response.status).toBe(received.error.code);
  return received.error;
}

const user = (text: string): object => ({role: 'user', parts: [{text}]});
const asks = (...list: object[]): object => ({role: 'model', parts: list.map((functionCall) => ({functionCall}))});
const tells = (...list: object[]): object => ({
  role: 'user',
  parts: list.map((functionResponse) => ({functionResponse: {response: {}, ...functionResponse}})),
});
const hello = {contents: [user('Hi')]};

describe('GeminiServer checks', () => {
  test('the key, in the header or in the query', async () => {
    expect(await post(hello, {headers: {'x-goog-api-key': 'wrong'}})).toMatchObject({
      code: 400,
      status: 'INVALID_ARGUMENT',
      message: 'API key not valid. Please pass a valid API key.',
      details: [{reason: 'API_KEY_INVALID'}, {'@type': 'type.googleapis.com/google.rpc.LocalizedMessage'}],
    });
    expect(await post(hello, {headers: {'x-goog-api-key': ''}})).toMatchObject({code: 403, status: 'PERMISSION_DENIED'});
    const path = '/v1beta/models/m:generateContent';
    expect(await post(hello, {path: `${path}?key=right`, headers: {'x-goog-api-key': ''}})).toBeUndefined();
    await using open = await GeminiServer.start();
    expect(await post(hello, {to: open, headers: {'x-goog-api-key': 'any'}})).toBeUndefined();
  });

  test('a token instead of a key, on Vertex with a project', async () => {
    const path = '/v1beta1/projects/p/locations/us-central1/publishers/google/models/m:generateContent';
    const headers = {'x-goog-api-key': '', authorization: 'Bearer T'};
    expect(await post(hello, {path, headers})).toBeUndefined();
    expect(await post(hello, {headers})).toMatchObject({code: 403});
  });

  test('the deadline', async () => {
    expect(await post(hello, {headers: {'x-server-timeout': '5'}})).toMatchObject({
      code: 400,
      message: 'Manually set deadline 5s is too short. Minimum allowed deadline is 10s.',
    });
    expect(await post(hello, {headers: {'x-server-timeout': '10'}})).toBeUndefined();
  });

  test('`-latest` on v1', async () => {
    const model = 'models/gemini-flash-latest';
    expect(await post(hello, {path: `/v1/${model}:streamGenerateContent?alt=sse`})).toMatchObject({
      code: 404,
      status: 'NOT_FOUND',
      message: expect.stringContaining(`${model} is not found for API version v1, or is not supported for generateContent.`) as string,
    });
    expect(await post(hello, {path: `/v1beta/${model}:generateContent`})).toBeUndefined();
  });

  test('every prefix of the path', async () => {
    for (const prefix of ['/v1', '/v1beta', '/v1beta1/publishers/google', '/some/proxy/v1beta']) {
      expect(await post(hello, {path: `${prefix}/models/m:generateContent`})).toBeUndefined();
    }
  });

  test('no body where it is not strict', async () => {
    await using lax = await GeminiServer.start({strict: false});
    expect(await post({contents: [], nonsense: 1}, {to: lax})).toBeUndefined();
    expect(await post('not JSON', {to: lax})).toBeUndefined();
    expect(lax.requests[1]).toMatchObject({body: {}, bodyText: 'not JSON'});
    expect(await post(hello, {to: lax, headers: {'x-server-timeout': '5'}})).toMatchObject({code: 400});
  });
});

describe('GeminiServer refuses a body', () => {
  const declare = (declaration: object): object => ({...hello, tools: [{functionDeclarations: [declaration]}]});
  const withSchema = (parameters: object): object => declare({name: 'f', parameters});

  test('with unknown fields, all of them in BadRequest', async () => {
    const at = 'tools[0].function_declarations[0].parameters';
    const descriptions = [
      'Invalid JSON payload received. Unknown name "nonsense": Cannot find field.',
      `Invalid JSON payload received. Unknown name "additionalProperties" at '${at}': Cannot find field.`,
      `Invalid JSON payload received. Unknown name "const" at '${at}.properties[1].value.any_of[0]': Cannot find field.`,
      `Invalid JSON payload received. Unknown name "type" at '${at}.properties[1].value': Proto field is not repeating, cannot start list.`,
    ];
    const properties = {a: {type: 'STRING'}, b: {anyOf: [{const: 1}], type: ['string', 'null']}};
    const error = await post({nonsense: 1, ...withSchema({type: 'OBJECT', additionalProperties: false, properties})});
    expect(error?.message).toBe(descriptions.join('\n'));
    expect(error?.details).toEqual([
      {
        '@type': 'type.googleapis.com/google.rpc.BadRequest',
        fieldViolations: ['', at, `${at}.properties[1].value.any_of[0]`, `${at}.properties[1].value`].map((field, index) => ({
          field,
          description: descriptions[index],
        })),
      },
    ]);
  });

  const badValues: [string, object, string][] = [
    [
      'a list as a function response',
      {contents: [user('?'), asks({name: 'f'}), {role: 'user', parts: [{functionResponse: {name: 'f', response: []}}]}]},
      'Invalid JSON payload received. Unknown name "response" at \'contents[2].parts[0].function_response\': Proto field is not repeating, cannot start list.',
    ],
    [
      'a text as a function response',
      {contents: [user('?'), asks({name: 'f'}), {role: 'user', parts: [{functionResponse: {name: 'f', response: 'x'}}]}]},
      'Invalid value at \'contents[2].parts[0].function_response.response\' (type.googleapis.com/google.protobuf.Struct), "x"',
    ],
    [
      'a text as a content',
      {systemInstruction: 'x', ...hello},
      'Invalid value at \'system_instruction\' (type.googleapis.com/Content), "x"',
    ],
    [
      'an object as a text',
      {contents: [{role: 'user', parts: [{text: {a: 1}}]}]},
      'Invalid value at \'contents[0].parts[0].text\' (type.googleapis.com/TYPE_STRING), {"a":1}',
    ],
  ];
  test.each(badValues)('with %s', async (_, body, message) => {
    expect((await post(body))?.message).toBe(message);
  });

  test('that is no JSON object', async () => {
    for (const body of ['', '{"a":', '[]', 'null']) {
      expect((await post(body))?.message).toMatch(/^Invalid JSON payload received\. Unexpected token\./);
    }
  });

  const equalCounts =
    'Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.';
  const afterCall = 'Please ensure that function response turn comes immediately after a function call turn.';
  const wrongId = 'functionResponse.id does not match functionCall.id';
  const conversations: [string, unknown[], string][] = [
    ['no contents', [], '* GenerateContentRequest.contents: contents is not specified\n'],
    [
      'empty parts',
      [user('?'), {role: 'model', parts: []}],
      '* GenerateContentRequest.contents[1].parts: contents.parts must not be empty.\n',
    ],
    ['no parts', [{role: 'user'}], '* GenerateContentRequest.contents[0].parts: contents.parts must not be empty.\n'],
    [
      'a part without data',
      [{role: 'user', parts: [{text: '?'}, {thought: true}]}],
      "* GenerateContentRequest.contents[0].parts[1].data: required oneof field 'data' must have one initialized field\n",
    ],
    [
      'a call without a name',
      [user('?'), asks({args: {}})],
      '* GenerateContentRequest.contents[1].parts[0].function_call.name: Name cannot be empty.\n',
    ],
    [
      'a response without a name',
      [user('?'), asks({name: 'f'}), tells({})],
      '* GenerateContentRequest.contents[2].parts[0].function_response.name: Name cannot be empty.\n',
    ],
    ['a strange role', [{role: 'function', parts: [{text: '?'}]}], 'Please use a valid role: user, model.'],
    [
      'the model first',
      [{role: 'model', parts: [{text: 'Hi'}]}, user('?')],
      'Please ensure that multiturn requests start with a user role.',
    ],
    [
      'a call first',
      [asks({name: 'f'}), tells({name: 'f'})],
      'Please ensure that function call turn comes immediately after a user turn or after a function response turn.',
    ],
    ['a response too few', [user('?'), asks({name: 'f'}, {name: 'g'}), tells({name: 'f'})], equalCounts],
    ['a response too many', [user('?'), asks({name: 'f'}), tells({name: 'f'}, {name: 'f'})], equalCounts],
    ['a call that is not answered', [user('?'), asks({name: 'f'}), user('go on')], equalCounts],
    ['a call at the end', [user('?'), asks({name: 'f'})], equalCounts],
    ['something between call and response', [user('?'), asks({name: 'f'}), user('wait'), tells({name: 'f'})], equalCounts],
    ['a response to nothing', [user('?'), tells({name: 'f'})], afterCall],
    ['a wrong id', [user('?'), asks({name: 'f', id: 'a'}), tells({name: 'f', id: 'b'})], wrongId],
    ['an invented id', [user('?'), asks({name: 'f'}), tells({name: 'f', id: 'b'})], wrongId],
    ['a lost id', [user('?'), asks({name: 'f', id: 'a'}), tells({name: 'f'})], wrongId],
    [
      'one id twice',
      [user('?'), asks({name: 'f', id: 'a'}, {name: 'f', id: 'b'}), tells({name: 'f', id: 'a'}, {name: 'f', id: 'a'})],
      wrongId,
    ],
  ];
  test.each(conversations)('with %s', async (_, contents, message) => {
    expect(await post({contents})).toEqual({code: 400, status: 'INVALID_ARGUMENT', message});
  });

  test('but takes a good conversation: camel or snake case, parallel calls, a single item for a list', async () => {
    const contents = [
      user('?'),
      asks({name: 'f', id: 'a'}, {name: 'g', id: 'b'}),
      tells({name: 'f', id: 'a'}, {name: 'g', id: 'b'}),
      user('and?'),
    ];
    expect(await post({contents, generationConfig: {temperature: 0}})).toBeUndefined();
    expect(
      await post({
        contents: {role: 'user', parts: {text: 'Hi'}},
        generation_config: {max_output_tokens: 3},
        system_instruction: {parts: {text: 'x'}},
      }),
    ).toBeUndefined();
    expect(await post({contents: [user('?'), {role: 'model', parts: [{function_call: {name: 'f'}}]}, user('x')]})).toMatchObject({
      message: equalCounts,
    });
  });

  const badTools: [string, object, string][] = [
    [
      'a name that is none',
      declare({name: '1st'}),
      '* GenerateContentRequest.tools[0].function_declarations[0].name: Invalid function name: 1st\n',
    ],
    [
      'two schemas',
      declare({name: 'f', parameters: {type: 'OBJECT'}, parametersJsonSchema: {}}),
      '* GenerateContentRequest.tools[0].function_declarations[0]: parameters and parameters_json_schema are mutually exclusive\n',
    ],
    [
      'one name twice',
      {...hello, tools: [{functionDeclarations: [{name: 'f'}]}, {functionDeclarations: [{name: 'f'}]}]},
      'Duplicate function declaration found: f',
    ],
    [
      'names allowed in AUTO',
      {...hello, toolConfig: {functionCallingConfig: {allowedFunctionNames: ['f']}}},
      'Please set allowed_function_names only when function calling mode is ANY or VALIDATED.',
    ],
  ];
  test.each(badTools)('with %s', async (_, body, message) => {
    expect((await post(body))?.message).toBe(message);
  });

  test("but takes a call that a server-side tool has answered in the model's own content", async () => {
    const parts = [{functionCall: {name: 'f'}}, {functionResponse: {name: 'f', response: {}}}, {text: 'done'}];
    expect(await post({contents: [user('?'), {role: 'model', parts}, user('and?')]})).toBeUndefined();
    const split = parts.map((part) => ({role: 'model', parts: [part]}));
    expect(await post({contents: [user('?'), ...split, user('and?')]})).toBeUndefined();
  });

  test('but takes any JSON Schema where it is asked for one', async () => {
    expect(
      await post(declare({name: 'f', parametersJsonSchema: {type: ['string', 'null'], additionalProperties: false, $ref: '#'}})),
    ).toBeUndefined();
  });
});

describe('GeminiServer wants thought signatures back', () => {
  const gemini3 = {path: '/v1beta/models/gemini-3-pro-preview:generateContent'};
  const signed = (name: string): object => ({functionCall: {name}, thoughtSignature: 'c2ln'});
  const step = (...parts: object[]): object[] => [
    {role: 'model', parts},
    {
      role: 'user',
      parts: parts.map((part) => ({functionResponse: {name: (part as {functionCall: {name: string}}).functionCall.name, response: {}}})),
    },
  ];
  const unsigned = (name: string): object => ({functionCall: {name}});

  test('on the first call of every step of the turn under way', async () => {
    const contents = [user('?'), ...step(signed('f'), unsigned('g')), ...step(unsigned('h'), signed('i'))];
    expect((await post({contents}, gemini3))?.message).toBe(
      'Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly, and missing ' +
        'thought_signature may lead to degraded model performance. Additional data, function call `default_api:h` , position 4.',
    );
    expect(await post({contents: [user('?'), ...step(signed('f'), unsigned('g')), ...step(signed('h'))]}, gemini3)).toBeUndefined();
  });

  test('not in turns before, and not from older models', async () => {
    const old = [user('?'), ...step(unsigned('f')), {role: 'model', parts: [{text: 'done'}]}];
    expect(await post({contents: [...old, user('next')]}, gemini3)).toBeUndefined();
    expect(await post({contents: [user('?'), ...step(unsigned('f'))]})).toBeUndefined();
  });
});

const recordings = new URL('../../../shared/recordings/http.jsonl', import.meta.url);

interface Recording {
  readonly id: string;
  readonly api: string;
  readonly backend: string;
  readonly model: string | null;
  readonly requestBody: unknown;
  readonly status: number;
}

/** What the real servers served once and this one refuses, and why that is right. */
const refusedOfOld: readonly [id: string, why: string][] = [
  ['js-genai/Chats_Tests_chats_function_calling_Google_AI_with_function_calling.json#1', 'gemini-2.0 put up with an unanswered call'],
  ['js-genai/Chats_Tests_chats_function_calling_Google_AI_with_function_calling_stream.json#1', 'the same'],
  ['js-genai/Chats_Tests_chats_function_calling_Vertex_AI_with_function_calling.json#1', 'the same'],
  ['js-genai/Chats_Tests_chats_function_calling_Vertex_AI_with_function_calling_stream.json#1', 'the same'],
  [
    'js-genai/Chats_Tests_chats_function_calling_Vertex_AI_with_streaming_function_calling_arguments_stream.json#1',
    'a preview put up with an id in the response that its call had not',
  ],
];

test('GeminiServer refuses no request that Google has served', async ({skip}) => {
  if (!existsSync(recordings)) {
    console.warn('SKIPPED: the recordings of real traffic are not here, so nothing shows that no good request is refused');
    skip();
  }
  const served = readFileSync(recordings, 'utf8')
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as Recording)
    .filter(
      ({api, status, requestBody}) => /generateContent$/i.test(api) && status === 200 && typeof requestBody === 'object' && requestBody,
    );
  const refused: string[] = [];
  for (const {id, backend, model, requestBody} of served) {
    const prefix = backend === 'vertex' ? '/v1beta1/publishers/google' : '/v1beta';
    const error = await post(requestBody, {path: `${prefix}/models/${model ?? 'gemini-2.5-flash'}:generateContent`});
    if (error) refused.push(id);
  }
  expect(served.length).toBeGreaterThan(200);
  expect(refused.toSorted()).toEqual(refusedOfOld.map(([id]) => id));
});
