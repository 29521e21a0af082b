import {expect, test} from 'vitest';
import {
  FunctionTool,
  getFunctionResponses,
  InMemoryArtifactService,
  InMemoryRunner,
  InMemorySessionService,
  LlmAgent,
  LongRunningFunctionTool,
  Runner,
  StreamingMode,
  type CreateSessionRequest,
  type Event,
  type Session,
} from 'sluice';
import {createHandler} from 'sluice/serve';
import {deltas, functionCalls, hang, ScriptedLlm} from 'sluice/testing';
import {expectValid, line} from '../stories/kit.ts';
import {saying, SESSION, site, sseData} from './kit.ts';

const SESSIONS = '/apps/app/users/u/sessions';

test('health and the list of apps are told', async () => {
  const it = await site();
  expect(await it.json('GET', '/health')).toEqual({status: 200, body: {status: 'ok'}});
  expect(await it.json('GET', '/list-apps?relative_path=./')).toEqual({status: 200, body: ['app']});
});

test('a session is created, read, listed, changed and deleted', async () => {
  const it = await site();
  const created = await it.json('POST', SESSIONS, {state: {mood: 'good', 'user:name': 'Ada'}});
  const session = created.body as Session;
  expect(session).toMatchObject({appName: 'app', userId: 'u', state: {mood: 'good', 'user:name': 'Ada'}, events: []});
  expect(await it.json('GET', `${SESSIONS}/${session.id}`)).toEqual(created);
  const listed = (await it.json('GET', SESSIONS)).body as Session[];
  expect(listed.map(({id}) => id).toSorted()).toEqual(['s', session.id].toSorted());
  const patched = await it.json('PATCH', `${SESSIONS}/${session.id}`, {state_delta: {mood: 'bad', some_key: 1}});
  expect(patched).toMatchObject({status: 200, body: {state: {mood: 'bad', some_key: 1, 'user:name': 'Ada'}, events: [{author: 'user'}]}});
  expect(await it.json('DELETE', `${SESSIONS}/${session.id}`)).toEqual({status: 200, body: null});
  expect((await it.json('GET', `${SESSIONS}/${session.id}`)).status).toBe(404);
  expect((await it.json('DELETE', `${SESSIONS}/${session.id}`)).status).toBe(404);
});

test.each([
  ['no body', undefined, {}],
  ['null', 'null', {}],
  ['an empty object', {}, {}],
  ['a state', {state: {a_b: 1}}, {a_b: 1}],
  ['a state of null', {state: null}, {}],
  ['the state itself, as older clients send it', {a_b: 1, state: 2}, {a_b: 1, state: 2}],
])('a session of a given id is created with %s', async (_, body, state) => {
  const it = await site();
  expect(await it.json('POST', `${SESSIONS}/new`, body)).toMatchObject({status: 200, body: {id: 'new', state}});
});

test('a session id in the body is taken, and one that exists is a conflict', async () => {
  const it = await site();
  expect(await it.json('POST', SESSIONS, {session_id: 'mine'})).toMatchObject({status: 200, body: {id: 'mine'}});
  expect(await it.json('POST', SESSIONS, {sessionId: 'mine'})).toMatchObject({status: 409, body: {code: 'SESSION_EXISTS'}});
  expect((await it.json('POST', `${SESSIONS}/mine`)).status).toBe(409);
});

test('a session is imported with its Events, in camelCase or snake_case, and goes on from there', async () => {
  const it = await site({steps: ['Hello again.']});
  const call = {function_call: {id: 'c', name: 'look_up', args: {some_key: 1}}};
  const response = {function_response: {id: 'c', name: 'look_up', response: {other_key: 2}}};
  const events = [
    {author: 'user', content: {role: 'user', parts: [{text: 'Hi'}]}, actions: {state_delta: {some_key: 1}}},
    {author: 'root', invocation_id: 'e-1', content: {role: 'model', parts: [call]}, long_running_tool_ids: null},
    {author: 'root', invocationId: 'e-1', content: {role: 'user', parts: [response]}},
  ];
  const {body} = await it.json('POST', SESSIONS, {sessionId: 'old', events, state: {a: 1}});
  expect((body as Session).events.map(line)).toEqual(['user: "Hi"', 'root: look_up({"some_key":1})', 'root: look_up={"other_key":2}']);
  expect(body).toMatchObject({state: {a: 1, some_key: 1}});
  await it.json('POST', '/run', saying('And now?', {sessionId: 'old'}));
  expect(it.model.requests[0]?.contents).toHaveLength(4);
});

test('/run gives all Events of the run once it is done', async () => {
  const getWeather = new FunctionTool({name: 'get_weather', description: 'Weather.', execute: () => ({sky: 'clear'})});
  const it = await site({steps: [functionCalls({name: 'get_weather', args: {}}), deltas('Su', 'nny.')], agent: {tools: [getWeather]}});
  const {status, body} = await it.json('POST', '/run', saying('Weather?', {streaming: true, stateDelta: {seen: 1}}));
  expect(status).toBe(200);
  expect((body as Event[]).map(line)).toEqual(['root: get_weather({})', 'root: get_weather={"sky":"clear"}', 'root: "Sunny."']);
  expectValid(await it.stored());
  expect((await it.json('GET', SESSION)).body).toMatchObject({state: {seen: 1}});
  expect(await Promise.all(it.waited)).toMatchObject([{kind: 'done'}]);
});

test('a request in snake_case is understood, and what is the user’s own keeps its keys', async () => {
  const approve = new LongRunningFunctionTool({name: 'approve', description: 'Asks.', execute: () => ({status: 'pending'})});
  const it = await site({steps: [functionCalls({name: 'approve', args: {}, id: 'c'}), 'Waiting.', 'Done.'], agent: {tools: [approve]}});
  const ids = {app_name: 'app', user_id: 'u', session_id: 's'};
  await it.json('POST', '/run', {...ids, new_message: {parts: [{text: 'go'}]}, custom_metadata: {trace_id: 1}, streaming: null});
  const answer = {function_response: {id: 'c', name: 'approve', response: {is_ok: true}}};
  const {status} = await it.json('POST', '/run', {
    ...ids,
    newMessage: {role: 'user', parts: [answer]},
    state_delta: {some_key: {in_it: 1}},
  });
  expect(status).toBe(200);
  const stored = await it.stored();
  expect(stored[0]?.customMetadata).toEqual({trace_id: 1});
  expect(stored.flatMap(getFunctionResponses).at(-1)?.response).toEqual({is_ok: true});
  expect((await it.json('GET', SESSION)).body).toMatchObject({state: {some_key: {in_it: 1}}});
});

test('/run_sse gives Events as they come, whole ones only unless streaming is asked for', async () => {
  const it = await site({steps: [deltas('Hel', 'lo'), deltas('Hel', 'lo')]});
  const response = await it.ask('POST', '/run_sse', saying('Hi'));
  expect([response.status, response.headers.get('content-type')]).toEqual([200, 'text/event-stream']);
  expect((sseData(await response.text()) as Event[]).map(line)).toEqual(['root: "Hello"']);
  const streamed = await it.ask('POST', '/run_sse', saying('Hi', {streaming: true}));
  expect((sseData(await streamed.text()) as Event[]).map(line)).toEqual(['root: "Hel" [partial]', 'root: "lo" [partial]', 'root: "Hello"']);
  expect(await Promise.all(it.waited)).toMatchObject([{kind: 'done'}, {kind: 'done'}]);
});

test('where a request does not say whether to stream, the runConfig does', async () => {
  const it = await site({steps: [deltas('a', 'b')], runConfig: {streamingMode: StreamingMode.SSE}});
  expect(sseData(await (await it.ask('POST', '/run_sse', saying('Hi'))).text())).toHaveLength(3);
});

test('/run_sse writes lines of JSON for who accepts them', async () => {
  const it = await site({steps: ['Hello']});
  const response = await it.ask('POST', '/run_sse', saying('Hi'), {headers: {accept: 'application/x-ndjson'}});
  expect(response.headers.get('content-type')).toBe('application/x-ndjson');
  expect(line(JSON.parse(await response.text()) as Event)).toBe('root: "Hello"');
});

test('a stream that has nothing to say shows that it lives', async () => {
  const it = await site({steps: [functionCalls({name: 'none'}), hang()], heartbeatMs: 5});
  const reader = (await it.ask('POST', '/run_sse', saying('Hi'))).body!.getReader();
  let text = '';
  while (!/^:.*\n\n/m.test(text)) text += new TextDecoder().decode((await reader.read()).value);
  await reader.cancel();
  expect(await Promise.all(it.waited)).toMatchObject([{kind: 'return'}]);
});

test('a failure after the stream has begun is its last message, without the words of foreign errors', async () => {
  const it = await site({steps: [functionCalls({name: 'none'}), new TypeError('the password is 1234')]});
  const response = await it.ask('POST', '/run_sse', saying('Hi'));
  const messages = sseData(await response.text());
  expect(response.status).toBe(200);
  expect(messages.slice(0, 2).map((event) => line(event as Event))).toEqual(['root: none({})', expect.stringMatching(/^root: none=/)]);
  expect(Object.keys(messages[2] as object)).toEqual(['error', 'code']);
  expect(JSON.stringify(messages)).not.toMatch(/1234|TypeError|\.ts:/);
  expect(it.errors).toHaveLength(1);
});

test('the runs of a session are told and cancelled', async () => {
  const it = await site({steps: [hang()]});
  const answer = it.ask('POST', '/run', saying('Hi'));
  const started = (async () => {
    for (;;) {
      const {body} = await it.json('GET', `${SESSION}/runs`);
      if ((body as {runs: unknown[]}).runs.length > 0 && it.model.calls > 0) return body;
      await new Promise((resolve) => setImmediate(resolve));
    }
  })();
  expect(await started).toEqual({runs: [{invocationId: expect.stringMatching(/^e-/)}]});
  expect(await it.json('POST', `${SESSION}/cancel`)).toEqual({status: 200, body: {cancelled: 1}});
  expect((await answer).status).toBe(409);
  expect(await it.json('GET', `${SESSION}/runs`)).toEqual({status: 200, body: {runs: []}});
  expect(await it.json('POST', `${SESSION}/cancel`)).toEqual({status: 200, body: {cancelled: 0}});
  expect(it.errors).toEqual([]);
});

test('a session that its first run is about to create is one whose runs are told and cancelled', async () => {
  const [asked, stored] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  class SlowSessionService extends InMemorySessionService {
    override async createSession(request: CreateSessionRequest): Promise<Session> {
      asked.resolve();
      await stored.promise;
      return super.createSession(request);
    }
  }
  const model = new ScriptedLlm({steps: ['never']});
  const root = new LlmAgent({name: 'root', model});
  await using handler = createHandler({
    runner: new Runner({appName: 'app', agent: root, sessionService: new SlowSessionService(), autoCreateSession: true}),
  });
  const ask = (method: string, path: string, body?: object): Promise<Response> => {
    const headers = {'content-type': 'application/json'};
    return handler(new Request(`http://host${path}`, {method, headers, ...(body && {body: JSON.stringify(body)})}));
  };
  const answer = ask('POST', '/run', saying('Hi'));
  await asked.promise;
  expect(await (await ask('GET', `${SESSION}/runs`)).json()).toMatchObject({runs: [{}]});
  const cancelled = ask('POST', `${SESSION}/cancel`);
  stored.resolve();
  expect(await (await cancelled).json()).toEqual({cancelled: 1});
  expect([(await answer).status, model.calls]).toEqual([409, 0]);
});

test('HEAD is answered as GET, without a body', async () => {
  const it = await site({steps: ['Hello'], authorize: (_, {userId}) => userId !== 'v', onDisconnect: 'continue'});
  await (await it.ask('POST', '/run_sse', saying('Hi'))).text();
  for (const [path, status] of [
    ['/health', 200],
    ['/list-apps', 200],
    [SESSION, 200],
    [`${SESSION}/run_sse`, 200],
    ['/apps/app/users/u/sessions/none', 404],
    ['/apps/app/users/v/sessions', 403],
    ['/nothing', 404],
  ] as const) {
    const [head, get] = [await it.ask('HEAD', path), await it.ask('GET', path)];
    expect([head.status, head.body, [...head.headers]]).toEqual([status, null, [...get.headers]]);
    await get.body?.cancel();
  }
  await it.handler.close();
  expect((await it.ask('HEAD', '/health')).status).toBe(503);
});

test('deleting a session stops its runs first', async () => {
  const asked = Promise.withResolvers<void>();
  const it = await site({steps: [() => (asked.resolve(), new Promise<never>(() => {}))]});
  const answer = it.ask('POST', '/run', saying('Hi'));
  await asked.promise;
  expect((await it.json('DELETE', SESSION)).status).toBe(200);
  expect((await answer).status).toBe(409);
  expect((await it.json('GET', SESSION)).status).toBe(404);
});

test('artifacts are saved, listed, loaded by version and deleted, whatever slashes are in their names', async () => {
  const it = await site({artifactService: new InMemoryArtifactService()});
  const path = `${SESSION}/artifacts`;
  for (const data of ['AAAA', 'BBBB']) {
    const body = {filename: 'charts/a b.png', artifact: {inline_data: {mime_type: 'image/png', data}}};
    expect(await it.json('POST', path, body)).toEqual({status: 200, body: {version: data === 'AAAA' ? 0 : 1}});
  }
  expect(await it.json('GET', path)).toEqual({status: 200, body: ['charts/a b.png']});
  for (const name of ['charts/a%20b.png', 'charts%2Fa%20b.png']) {
    expect(await it.json('GET', `${path}/${name}`)).toEqual({status: 200, body: {inlineData: {mimeType: 'image/png', data: 'BBBB'}}});
    expect((await it.json('GET', `${path}/${name}/versions`)).body).toEqual([0, 1]);
    expect((await it.json('GET', `${path}/${name}/versions/0`)).body).toMatchObject({inlineData: {data: 'AAAA'}});
    expect((await it.json('GET', `${path}/${name}/versions/latest`)).body).toMatchObject({inlineData: {data: 'BBBB'}});
    expect((await it.json('GET', `${path}/${name}?version=0`)).body).toMatchObject({inlineData: {data: 'AAAA'}});
  }
  expect((await it.json('GET', `${path}/charts/a%20b.png/versions/7`)).status).toBe(404);
  expect((await it.json('GET', `${path}/charts/a%20b.png/versions/x`)).status).toBe(422);
  expect(await it.json('DELETE', `${path}/charts/a%20b.png`)).toEqual({status: 200, body: null});
  expect((await it.json('GET', path)).body).toEqual([]);
});

test('runners of one’s own are served under their names', async () => {
  const make = (appName: string): Runner =>
    new InMemoryRunner({appName, agent: new LlmAgent({name: 'root', model: new ScriptedLlm({steps: [appName]})}), autoCreateSession: true});
  await using handler = createHandler({runners: [make('one'), make('two')]});
  const ask = (path: string, init?: RequestInit): Promise<Response> => handler(new Request(`http://host${path}`, init));
  expect(await (await ask('/list-apps')).json()).toEqual(['one', 'two']);
  const headers = {'content-type': 'application/json'};
  const answer = await ask('/run', {method: 'POST', headers, body: JSON.stringify(saying('Hi', {appName: 'two', sessionId: 'new'}))});
  expect(((await answer.json()) as Event[]).map(line)).toEqual(['root: "two"']);
});

test('everything stands below the base path', async () => {
  const it = await site({basePath: '/api/v1'});
  expect((await it.json('GET', '/api/v1/list-apps')).status).toBe(200);
  for (const path of ['/list-apps', '/api/v1list-apps', '/api/v1', '/api/list-apps']) expect((await it.json('GET', path)).status).toBe(404);
});
