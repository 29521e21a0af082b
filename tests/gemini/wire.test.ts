import {afterEach, describe, expect, test, vi} from 'vitest';

import type {Content} from '../../lib/content.ts';
import {Gemini} from '../../lib/gemini/index.ts';
import {newCallId} from '../../lib/models/call-id.ts';
import {ask, geminiAt, streamed, whole} from './asking.ts';
import {json, rawServer, type RawRequest, stream, text} from './raw-server.ts';

afterEach(() => vi.unstubAllEnvs());

const uuid = '11111111-2222-4333-8444-555555555555';
const done = stream(text('one', 'STOP'));

const vertex = {project: 'p', location: 'us-central1', googleAuthOptions: {authClient: authClient()}} as const;

/** The one request that a streamed call makes. */
async function sent(model: (url: string) => Gemini, request = ask()): Promise<RawRequest> {
  await using server = await rawServer(done);
  await streamed(model(server.url), request);
  expect(server.requests).toHaveLength(1);
  return await server.request(0);
}

/** The contents as they stand in the body that is sent. */
async function sentContents(contents: readonly Content[], backend: 'gemini' | 'vertex' = 'gemini'): Promise<unknown> {
  const {body} = await sent(
    (baseUrl) => new Gemini({model: 'm', ...(backend === 'vertex' ? vertex : {apiKey: 'KEY'}), httpOptions: {baseUrl}}),
    ask(deepFrozen(contents)),
  );
  return (JSON.parse(body) as {contents: unknown}).contents;
}

describe('where a request goes', () => {
  test('an API key: the Gemini API at v1beta, the bytes of the body exactly', async () => {
    const request = await sent((baseUrl) => new Gemini({model: 'gemini-test', apiKey: 'KEY', httpOptions: {baseUrl}}));
    expect(request).toMatchObject({
      method: 'POST',
      path: '/v1beta/models/gemini-test:streamGenerateContent?alt=sse',
      body: '{"contents":[{"parts":[{"text":"hi"}],"role":"user"}],"generationConfig":{}}',
    });
    expect(request.headers).toMatchObject({'x-goog-api-key': 'KEY', 'content-type': 'application/json'});
  });

  test('not streamed: generateContent', async () => {
    await using server = await rawServer(json(text('one', 'STOP')));
    await whole(geminiAt(server));
    expect((await server.request(0)).path).toBe('/v1beta/models/gemini-test:generateContent');
  });

  test('the model of the request wins', async () => {
    const request = await sent((baseUrl) => new Gemini({model: 'a', apiKey: 'KEY', httpOptions: {baseUrl}}), {
      ...ask(),
      model: 'tunedModels/b',
    });
    expect(request.path).toBe('/v1beta/tunedModels/b:streamGenerateContent?alt=sse');
  });

  test('a project: Vertex AI at v1beta1, with the token of the login', async () => {
    const request = await sent((baseUrl) => new Gemini({model: 'gemini-test', ...vertex, httpOptions: {baseUrl}}));
    expect(request).toMatchObject({
      path: '/v1beta1/projects/p/locations/us-central1/publishers/google/models/gemini-test:streamGenerateContent?alt=sse',
      body: '{"contents":[{"parts":[{"text":"hi"}],"role":"user"}],"generationConfig":{}}',
    });
    expect(request.headers).toMatchObject({authorization: 'Bearer T'});
    expect(request.headers).not.toHaveProperty('x-goog-api-key');
  });

  test('Vertex AI with an API key: express mode', async () => {
    const request = await sent((baseUrl) => new Gemini({model: 'gemini-test', vertexai: true, apiKey: 'KEY', httpOptions: {baseUrl}}));
    expect(request.path).toBe('/v1beta1/publishers/google/models/gemini-test:streamGenerateContent?alt=sse');
    expect(request.headers).toMatchObject({'x-goog-api-key': 'KEY'});
  });

  test('the environment: key, base URL and version of the Gemini API', async () => {
    vi.stubEnv('GEMINI_API_KEY', 'FROM_ENV');
    vi.stubEnv('GOOGLE_GENAI_API_VERSION', 'v1');
    const request = await sent((url) => (vi.stubEnv('GOOGLE_GEMINI_BASE_URL', `${url}/proxy/`), new Gemini({model: 'gemini-test'})));
    expect(request.path).toBe('/proxy/v1/models/gemini-test:streamGenerateContent?alt=sse');
    expect(request.headers).toMatchObject({'x-goog-api-key': 'FROM_ENV'});
  });

  test('the environment: GOOGLE_API_KEY before GEMINI_API_KEY, options before both', async () => {
    vi.stubEnv('GEMINI_API_KEY', 'SECOND');
    vi.stubEnv('GOOGLE_API_KEY', 'FIRST');
    const bare = await sent((baseUrl) => new Gemini({model: 'm', httpOptions: {baseUrl}}));
    const given = await sent((baseUrl) => new Gemini({model: 'm', apiKey: 'GIVEN', httpOptions: {baseUrl}}));
    expect([bare, given].map(({headers}) => headers['x-goog-api-key'])).toEqual(['FIRST', 'GIVEN']);
  });

  test('the environment: Vertex AI with a project, which wins over a key', async () => {
    vi.stubEnv('GEMINI_API_KEY', 'KEY');
    vi.stubEnv('GOOGLE_GENAI_USE_VERTEXAI', 'True');
    vi.stubEnv('GOOGLE_CLOUD_PROJECT', 'q');
    vi.stubEnv('GOOGLE_CLOUD_LOCATION', 'europe-west1');
    const {googleAuthOptions} = vertex;
    const request = await sent((url) => (vi.stubEnv('GOOGLE_VERTEX_BASE_URL', url), new Gemini({model: 'm', googleAuthOptions})));
    expect(request.path).toBe('/v1beta1/projects/q/locations/europe-west1/publishers/google/models/m:streamGenerateContent?alt=sse');
    expect(request.headers).toMatchObject({authorization: 'Bearer T'});
  });

  test('the environment: `vertexai: false` keeps to the Gemini API', async () => {
    vi.stubEnv('GOOGLE_GENAI_USE_VERTEXAI', 'true');
    const request = await sent((baseUrl) => new Gemini({model: 'm', vertexai: false, apiKey: 'KEY', httpOptions: {baseUrl}}));
    expect(request.path).toBe('/v1beta/models/m:streamGenerateContent?alt=sse');
  });

  test('`apiVersion` and HTTP options: of the model, and of the request, which wins', async () => {
    const mine = {headers: {'x-mine': 'model', 'x-both': 'model'}, extraBody: {labels: {a: 'b'}}};
    const request = await sent(
      (baseUrl) => new Gemini({model: 'm', apiKey: 'KEY', apiVersion: 'v1alpha', httpOptions: {baseUrl, ...mine}}),
      ask(undefined, {httpOptions: {headers: {'x-both': 'request'}}}),
    );
    expect(request.path).toBe('/v1alpha/models/m:streamGenerateContent?alt=sse');
    expect(request.headers).toMatchObject({'x-mine': 'model', 'x-both': 'request'});
    expect(JSON.parse(request.body)).toMatchObject({labels: {a: 'b'}});
  });

  test("the caller's objects are never changed", async () => {
    const httpOptions = deepFrozen({headers: {a: 'b'}});
    await sent(
      (url) => (vi.stubEnv('GOOGLE_GEMINI_BASE_URL', url), new Gemini(Object.freeze({model: 'm', apiKey: 'KEY', httpOptions}))),
      deepFrozen(
        ask(undefined, {
          tools: [{functionDeclarations: [{name: 'f', parameters: {type: 'OBJECT' as never, properties: {x: {type: 'STRING' as never}}}}]}],
          responseSchema: {$schema: 'x', type: 'OBJECT'},
          httpOptions: {timeout: 5_000, headers: {c: 'd'}},
          systemInstruction: 'be brief',
        }),
      ),
    );
  });
});

describe('what of a config is sent', () => {
  test("all that the API knows, and nothing of the SDK's own loops", async () => {
    const {body, headers} = await sent(
      (baseUrl) => new Gemini({model: 'm', apiKey: 'KEY', httpOptions: {baseUrl}}),
      ask(undefined, {
        temperature: 0.5,
        systemInstruction: 'be brief',
        tools: [{functionDeclarations: [{name: 'f', description: 'd', parametersJsonSchema: {type: 'object'}}]}],
        toolConfig: {functionCallingConfig: {mode: 'ANY' as never, allowedFunctionNames: ['f'], streamFunctionCallArguments: true}},
        automaticFunctionCalling: {maximumRemoteCalls: 5},
        labels: {team: 'a'},
      }),
    );
    expect(JSON.parse(body)).toEqual({
      contents: [{role: 'user', parts: [{text: 'hi'}]}],
      systemInstruction: {role: 'user', parts: [{text: 'be brief'}]},
      tools: [{functionDeclarations: [{name: 'f', description: 'd', parametersJsonSchema: {type: 'object'}}]}],
      toolConfig: {functionCallingConfig: {mode: 'ANY', allowedFunctionNames: ['f']}},
      labels: {team: 'a'},
      generationConfig: {temperature: 0.5},
    });
    expect(headers).not.toHaveProperty('x-server-timeout');
  });

  test('a reply that asks to be continued is not continued by itself', async () => {
    const part = {candidates: [{content: {role: 'model', parts: [{text: 'half'}]}, finishReason: 'CONTINUATION', continuationToken: 'T'}]};
    await using server = await rawServer(stream(part));
    expect(await streamed(geminiAt(server))).toMatchObject([{partial: true}, {errorCode: 'CONTINUATION'}]);
    expect(server.requests).toHaveLength(1);
  });

  test('an empty instruction is not sent', async () => {
    const {body} = await sent(
      (baseUrl) => new Gemini({model: 'm', apiKey: 'KEY', httpOptions: {baseUrl}}),
      ask(undefined, {systemInstruction: ''}),
    );
    expect(JSON.parse(body)).toEqual({contents: [{role: 'user', parts: [{text: 'hi'}]}], generationConfig: {}});
  });
});

describe('how a history is sent', () => {
  test("a call's id goes out exactly where the server gave one, on the call and on its response", async () => {
    const ids = [newCallId(uuid), newCallId(uuid, 'call-7'), 'call-8'];
    expect(
      await sentContents([
        {role: 'model', parts: ids.map((id) => ({functionCall: {id, name: 'f', args: {}}}))},
        {role: 'user', parts: ids.map((id) => ({functionResponse: {id, name: 'f', response: {ok: true}}}))},
      ]),
    ).toEqual([
      {
        role: 'model',
        parts: [
          {functionCall: {name: 'f', args: {}}},
          {functionCall: {id: 'call-7', name: 'f', args: {}}},
          {functionCall: {id: 'call-8', name: 'f', args: {}}},
        ],
      },
      {
        role: 'user',
        parts: [
          {functionResponse: {name: 'f', response: {ok: true}}},
          {functionResponse: {id: 'call-7', name: 'f', response: {ok: true}}},
          {functionResponse: {id: 'call-8', name: 'f', response: {ok: true}}},
        ],
      },
    ]);
  });

  test('signatures stay on their own part, also on an empty text', async () => {
    const contents: Content[] = [
      {role: 'user', parts: [{text: 'go'}]},
      {
        role: 'model',
        parts: [
          {text: 'thinking', thought: true},
          {functionCall: {name: 'f', args: {}}, thoughtSignature: 'c2lnMQ=='},
          {functionCall: {name: 'g', args: {}}},
          {text: '', thoughtSignature: 'c2lnMg=='},
        ],
      },
    ];
    expect(await sentContents(contents)).toEqual(contents);
    expect(await sentContents(contents, 'vertex')).toEqual(contents);
  });

  test('what says nothing is not sent, neither a part nor a content', async () => {
    expect(
      await sentContents([
        {role: 'user', parts: [{text: 'go'}, {text: ''}, {}]},
        {role: 'model', parts: []},
        {role: 'model'},
        {role: 'model', parts: [{text: '', thought: true}]},
        {role: 'user', parts: [{text: 'on'}]},
      ]),
    ).toEqual([
      {role: 'user', parts: [{text: 'go'}]},
      {role: 'user', parts: [{text: 'on'}]},
    ]);
  });

  test('the Gemini API is not sent what only Vertex AI knows', async () => {
    expect(
      await sentContents([
        {
          role: 'model',
          parts: [{functionCall: {name: 'f', args: {a: 1}, willContinue: false, partialArgs: [{jsonPath: '$.a', numberValue: 1}]}}],
        },
      ]),
    ).toEqual([{role: 'model', parts: [{functionCall: {name: 'f', args: {a: 1}}}]}]);
  });

  test('Vertex AI is not sent what only the Gemini API knows', async () => {
    expect(
      await sentContents(
        [
          {role: 'model', parts: [{toolCall: {id: 't'}}, {text: 'one', partMetadata: {from: 'a'}}]},
          {role: 'user', parts: [{toolResponse: {id: 't'}}]},
          {
            role: 'user',
            parts: [
              {
                functionResponse: {
                  name: 'f',
                  willContinue: true,
                  response: {ok: true},
                  parts: [{inlineData: {mimeType: 'image/png', data: 'AA=='}, mediaProcessing: 'X'} as never],
                },
              },
            ],
          },
        ],
        'vertex',
      ),
    ).toEqual([
      {role: 'model', parts: [{text: 'one'}]},
      {
        role: 'user',
        parts: [{functionResponse: {name: 'f', response: {ok: true}, parts: [{inlineData: {mimeType: 'image/png', data: 'AA=='}}]}}],
      },
    ]);
  });

  test('every other kind of part goes out as it stands', async () => {
    const contents: Content[] = [
      {
        role: 'user',
        parts: [
          {inlineData: {mimeType: 'image/png', data: 'AA=='}},
          {fileData: {fileUri: 'gs://b/f', mimeType: 'video/mp4'}, videoMetadata: {fps: 1}},
        ],
      },
      {
        role: 'model',
        parts: [
          {executableCode: {code: '1', language: 'PYTHON' as never}},
          {codeExecutionResult: {outcome: 'OUTCOME_OK' as never, output: '1'}},
        ],
      },
    ];
    expect(await sentContents(contents)).toEqual(contents);
  });
});

/** What google-auth-library needs of a client. */
function authClient(): never {
  return {getRequestHeaders: async () => new Headers({authorization: 'Bearer T'})} as never;
}

function deepFrozen<T>(value: T): T {
  if (typeof value === 'object' && value !== null) for (const inner of Object.values(Object.freeze(value))) deepFrozen(inner);
  return value;
}
