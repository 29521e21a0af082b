import {afterEach, describe, expect, test, vi} from 'vitest';

import {Gemini, type GeminiOptions} from '../../../lib/gemini/index.ts';
import {liveUrl, modelResource} from '../../../lib/gemini/live/live-endpoint.ts';
import {targetOf} from '../../../lib/gemini/gemini-target.ts';
import type {LlmRequest} from '../../../lib/models/llm-request.ts';
import {GeminiLiveServer, type LiveServerSession} from '../../../lib/testing/index.ts';
import {rejection} from '../asking.ts';
import {authClient, silent} from './connecting.ts';

afterEach(() => vi.unstubAllEnvs());

const login = {
  googleAuthOptions: {authClient: authClient(async () => new Headers({authorization: 'Bearer T', 'x-goog-user-project': 'q'}))},
};

/** What the server saw of one connection. */
async function dialled(model: (url: string) => Gemini, request: LlmRequest = silent): Promise<LiveServerSession> {
  await using server = await GeminiLiveServer.start();
  await using connection = await model(server.url).connect(request);
  await connection.close();
  return await server.nextSession();
}

/** The URL and the model's resource name that options lead to; they are only looked at. */
function endpointOf(options: Partial<GeminiOptions>): readonly [string, string] {
  const target = targetOf({model: 'm', ...options});
  return [liveUrl(target).href, modelResource(options.model ?? 'm', target)];
}

describe('the handshake', () => {
  test('goes to the Gemini API at v1beta, with the key in the URL and in no header', async () => {
    const {request, setup} = await dialled((baseUrl) => new Gemini({model: 'm', apiKey: 'K/1 +', httpOptions: {baseUrl}}));
    expect(request.path).toBe('/ws/google.ai.generativelanguage.v1beta.GenerativeService.BidiGenerateContent');
    expect([...request.query]).toEqual([['key', 'K/1 +']]);
    expect(request.headers).not.toHaveProperty('x-goog-api-key');
    expect(request.headers).not.toHaveProperty('authorization');
    expect(request.headers).not.toHaveProperty('sec-websocket-extensions');
    expect(setup).toEqual({model: 'models/m'});
  });

  test('with an ephemeral token goes to the constrained method of v1alpha', async () => {
    const token = 'auth_tokens/abc';
    const {request} = await dialled((baseUrl) => new Gemini({model: 'm', apiKey: token, apiVersion: 'v1beta', httpOptions: {baseUrl}}));
    expect(request.path).toBe('/ws/google.ai.generativelanguage.v1alpha.GenerativeService.BidiGenerateContentConstrained');
    expect([...request.query]).toEqual([['access_token', token]]);
  });

  test('with a project goes to Vertex AI at v1beta1, with all headers of the login', async () => {
    const vertex = {model: 'm', project: 'p', location: 'us-central1', ...login};
    const {request, setup} = await dialled((baseUrl) => new Gemini({...vertex, httpOptions: {baseUrl}}));
    expect(request.path).toBe('/ws/google.cloud.aiplatform.v1beta1.LlmBidiService/BidiGenerateContent');
    expect([...request.query]).toEqual([]);
    expect(request.headers).toMatchObject({authorization: 'Bearer T', 'x-goog-user-project': 'q'});
    expect(request.headers).not.toHaveProperty('x-goog-api-key');
    expect(setup).toMatchObject({model: 'projects/p/locations/us-central1/publishers/google/models/m'});
  });

  test('with a key on Vertex AI has it in a header: express mode', async () => {
    const {request, setup} = await dialled((baseUrl) => new Gemini({model: 'm', vertexai: true, apiKey: 'KEY', httpOptions: {baseUrl}}));
    expect(request.path).toBe('/ws/google.cloud.aiplatform.v1beta1.LlmBidiService/BidiGenerateContent');
    expect(request.headers).toMatchObject({'x-goog-api-key': 'KEY'});
    expect(setup).toMatchObject({model: 'publishers/google/models/m'});
  });

  test("keeps the base URL's path as prefix, and its query", async () => {
    const {request} = await dialled((url) => new Gemini({model: 'm', apiKey: 'KEY', httpOptions: {baseUrl: `${url}/proxy/a/?team=b`}}));
    expect(request.path).toBe('/proxy/a/ws/google.ai.generativelanguage.v1beta.GenerativeService.BidiGenerateContent');
    expect([...request.query]).toEqual([
      ['team', 'b'],
      ['key', 'KEY'],
    ]);
  });

  test('takes key, base URL and version from the environment', async () => {
    vi.stubEnv('GEMINI_API_KEY', 'FROM_ENV');
    vi.stubEnv('GOOGLE_GENAI_API_VERSION', 'v1');
    const {request} = await dialled((url) => (vi.stubEnv('GOOGLE_GEMINI_BASE_URL', url), new Gemini({model: 'm'})));
    expect(request).toMatchObject({apiVersion: 'v1'});
    expect(request.query.get('key')).toBe('FROM_ENV');
  });

  test('has the headers of the HTTP options, of which those of the request win, and which win over the login', async () => {
    const model = (baseUrl: string): Gemini =>
      new Gemini({model: 'm', project: 'p', ...login, httpOptions: {baseUrl, headers: {'x-mine': 'model', 'X-Both': 'model'}}});
    const {request} = await dialled(model, {
      contents: [],
      config: {httpOptions: {headers: {'X-Both': 'config'}, apiVersion: 'v1'}},
      liveConnectConfig: {httpOptions: {headers: {'x-goog-user-project': 'mine'}}},
    });
    expect(request.headers).toMatchObject({
      'x-mine': 'model',
      'x-both': 'config',
      'x-goog-user-project': 'mine',
      authorization: 'Bearer T',
    });
    expect(request.apiVersion).toBe('v1');
  });

  test('of an `authorization` header of the caller asks nobody else to log in', async () => {
    const asked = vi.fn<() => Promise<Headers>>();
    const model = (baseUrl: string): Gemini =>
      new Gemini({
        model: 'm',
        project: 'p',
        googleAuthOptions: {authClient: authClient(asked)},
        httpOptions: {baseUrl, headers: {Authorization: 'Bearer MINE'}},
      });
    const {request} = await dialled(model);
    expect(request.headers).toMatchObject({authorization: 'Bearer MINE'});
    expect(asked).not.toHaveBeenCalled();
  });

  test('logs in anew for every connection, with one loaded login', async () => {
    await using server = await GeminiLiveServer.start();
    let tokens = 0;
    const headers = async (): Promise<Headers> => new Headers({authorization: `Bearer T${(tokens += 1)}`});
    const googleAuthOptions = {authClient: authClient(headers)};
    const model = new Gemini({model: 'm', project: 'p', googleAuthOptions, httpOptions: {baseUrl: server.url}});
    for (let at = 0; at < 2; at += 1) await (await model.connect(silent)).close();
    expect(server.sessions.map(({request}) => request.headers.authorization)).toEqual(['Bearer T1', 'Bearer T2']);
  });
});

describe('an endpoint', () => {
  test.each([
    {options: {apiKey: 'K'}, host: 'wss://generativelanguage.googleapis.com/ws/'},
    {options: {vertexai: true, apiKey: 'K'}, host: 'wss://aiplatform.googleapis.com/ws/'},
    {options: {project: 'p'}, host: 'wss://aiplatform.googleapis.com/ws/'},
    {options: {project: 'p', location: 'global'}, host: 'wss://aiplatform.googleapis.com/ws/'},
    {options: {project: 'p', location: 'europe-west4'}, host: 'wss://europe-west4-aiplatform.googleapis.com/ws/'},
    {options: {project: 'p', location: 'eu'}, host: 'wss://aiplatform.eu.rep.googleapis.com/ws/'},
    {options: {project: 'p', location: 'us'}, host: 'wss://aiplatform.us.rep.googleapis.com/ws/'},
    {options: {apiKey: 'K', httpOptions: {baseUrl: 'https://proxy.example/x'}}, host: 'wss://proxy.example/x/ws/'},
    {options: {apiKey: 'K', httpOptions: {baseUrl: 'ws://proxy.example#f'}}, host: 'ws://proxy.example/ws/'},
    // As genai has it: a proxy of the caller's own that logs in by itself.
    {options: {vertexai: true, httpOptions: {baseUrl: 'https://proxy.example/live?x=1'}}, host: 'wss://proxy.example/live?x=1'},
  ])('of $options is at $host', ({options, host}) => {
    const [url] = endpointOf(options);
    expect(url.slice(0, host.length)).toBe(host);
  });

  test.each([
    {model: 'm', gemini: 'models/m', project: 'projects/p/locations/l/publishers/google/models/m', express: 'publishers/google/models/m'},
    {model: 'models/m', gemini: 'models/m', project: 'models/m', express: 'models/m'},
    {model: 'tunedModels/t', gemini: 'tunedModels/t', project: undefined, express: undefined},
    {
      model: 'publishers/other/models/m',
      gemini: undefined,
      project: 'projects/p/locations/l/publishers/other/models/m',
      express: 'publishers/other/models/m',
    },
    {
      model: 'other/m',
      gemini: undefined,
      project: 'projects/p/locations/l/publishers/other/models/m',
      express: 'publishers/other/models/m',
    },
    {model: 'projects/x/locations/y/endpoints/1', gemini: undefined, project: 'projects/x/locations/y/endpoints/1', express: undefined},
  ])('has the model $model by its resource name', ({model, gemini, project, express}) => {
    if (gemini !== undefined) expect(endpointOf({model, apiKey: 'K'})[1]).toBe(gemini);
    if (project !== undefined) expect(endpointOf({model, project: 'p', location: 'l'})[1]).toBe(project);
    if (express !== undefined) expect(endpointOf({model, vertexai: true, apiKey: 'K'})[1]).toBe(express);
  });

  test.each(['nowhere', 'ftp://x'])('of the base URL %s is an error that says what was expected', async (baseUrl) => {
    const error = await rejection(new Gemini({model: 'm', apiKey: 'KEY', httpOptions: {baseUrl}}).connect(silent));
    expect(error).toMatchObject({name: 'ModelError', code: 'REQUEST_FAILED', retryable: false});
    expect((error as Error).message).toBe(
      `Expected \`httpOptions.baseUrl\` to be a URL of http, https, ws or wss, got ${JSON.stringify(baseUrl)} (string)`,
    );
  });

  test('of Vertex AI needs the scope of Google Cloud', async () => {
    const model = new Gemini({model: 'm', project: 'p', googleAuthOptions: {scopes: ['https://www.googleapis.com/auth/drive']}});
    const error = await rejection(model.connect(silent));
    expect(error).toMatchObject({code: 'REQUEST_FAILED', retryable: false});
    expect((error as Error).message).toContain(
      'Expected `googleAuthOptions.scopes` to be scopes with https://www.googleapis.com/auth/cloud-platform',
    );
  });

  test('without a login is an error that says what was looked for', async () => {
    expect(await rejection(new Gemini({model: 'm'}).connect(silent))).toMatchObject({code: 'MISSING_API_KEY', retryable: false});
    expect(await rejection(new Gemini({model: 'm', vertexai: true}).connect(silent))).toMatchObject({code: 'MISSING_API_KEY'});
  });
});
