import {expect, test} from 'vitest';
import {
  FunctionTool,
  InMemoryArtifactService,
  InMemoryRunner,
  InMemorySessionService,
  LlmAgent,
  ModelError,
  RunTimeoutError,
  type BaseSessionService,
} from 'sluice';
import {createHandler, type HandlerOptions} from 'sluice/serve';
import {functionCalls, hang, ScriptedLlm} from 'sluice/testing';
import {saying, SESSION, site} from './kit.ts';

/** What every refusal is: a problem whose parts agree, and which tells nothing of the inside. */
async function problem(response: Response): Promise<{status: number; code: string; detail: string; field?: string}> {
  expect(response.headers.get('content-type')).toBe('application/problem+json');
  const text = await response.text();
  const body = JSON.parse(text) as {status: number; code: string; detail: string; field?: string};
  expect(body).toMatchObject({type: 'about:blank', title: expect.stringMatching(/^[A-Z]/), status: response.status, error: body.detail});
  expect(text).not.toMatch(/\.ts:|node_modules|\n\s*at /);
  return body;
}

const LONG = 'x'.repeat(1_025);
const USERS = '/apps/app/users';

test.each([
  ['an unknown path', 'GET', '/nothing', 404, 'ROUTE_NOT_FOUND'],
  ['the root', 'GET', '/', 404, 'ROUTE_NOT_FOUND'],
  ['a trailing slash', 'GET', '/list-apps/', 404, 'ROUTE_NOT_FOUND'],
  ['slashes in front', 'GET', '//list-apps', 404, 'ROUTE_NOT_FOUND'],
  ['an empty name', 'GET', '/apps//users/u/sessions', 404, 'ROUTE_NOT_FOUND'],
  ['an empty session id', 'GET', `${USERS}/u/sessions/`, 404, 'ROUTE_NOT_FOUND'],
  ['dots that leave the tree', 'GET', '/apps/../../etc/passwd', 404, 'ROUTE_NOT_FOUND'],
  ['an unknown app', 'GET', '/apps/other/users/u/sessions', 404, 'APP_NOT_FOUND'],
  ['__proto__ as app', 'GET', '/apps/__proto__/users/u/sessions', 404, 'APP_NOT_FOUND'],
  ['constructor as app', 'GET', '/apps/constructor/users/u/sessions/s', 404, 'APP_NOT_FOUND'],
  ['an app with an encoded slash', 'GET', '/apps/app%2F/users/u/sessions', 404, 'APP_NOT_FOUND'],
  ['__proto__ as session', 'GET', `${USERS}/u/sessions/__proto__`, 404, 'SESSION_NOT_FOUND'],
  ['__proto__ as user', 'GET', `${USERS}/__proto__/sessions/s`, 404, 'SESSION_NOT_FOUND'],
  ['a session with encoded slashes', 'GET', `${USERS}/u/sessions/..%2F..%2Fs`, 404, 'SESSION_NOT_FOUND'],
  ['a session of another user', 'GET', `${USERS}/v/sessions/s`, 404, 'SESSION_NOT_FOUND'],
  ['a NUL byte', 'GET', `${USERS}/u/sessions/s%00`, 400, 'INVALID_FIELD'],
  ['a line break', 'GET', `${USERS}/u%0Av/sessions/s`, 400, 'INVALID_FIELD'],
  ['a huge id', 'GET', `${USERS}/u/sessions/${LONG}`, 400, 'INVALID_FIELD'],
  ['a malformed escape', 'GET', `${USERS}/u/sessions/%E0%A4%A`, 400, 'MALFORMED_PATH'],
  ['bytes that are no UTF-8', 'GET', `${USERS}/u/sessions/%ff`, 400, 'MALFORMED_PATH'],
  ['the runs of an unknown session', 'GET', `${USERS}/u/sessions/none/runs`, 404, 'SESSION_NOT_FOUND'],
  ['a stop in an unknown session', 'POST', `${USERS}/u/sessions/none/cancel`, 404, 'SESSION_NOT_FOUND'],
  ['reading along in an unknown session', 'GET', `${USERS}/u/sessions/none/run_sse`, 404, 'SESSION_NOT_FOUND'],
  ['artifacts where none are kept', 'GET', `${SESSION}/artifacts`, 404, 'NO_ARTIFACTS'],
  ['a run that nobody can read along', 'GET', `${SESSION}/run_sse`, 404, 'RUN_NOT_FOUND'],
  ['/run_live without a handshake', 'GET', '/run_live?app_name=app&user_id=u&session_id=s', 426, 'UPGRADE_REQUIRED'],
])('%s is refused', async (_, method, path, status, code) => {
  const it = await site();
  expect(await problem(await it.ask(method, path))).toMatchObject({status, code});
  expect(it.errors).toEqual([]);
});

test.each([
  ['PUT', SESSION, 'GET, HEAD, POST, PATCH, DELETE'],
  ['DELETE', '/run', 'POST'],
  ['GET', '/run_sse', 'POST'],
  ['POST', '/list-apps', 'GET, HEAD'],
  ['HEAD', '/run', 'POST'],
  ['OPTIONS', '/run', 'POST'],
  ['PUT', `${SESSION}/artifacts/a/b`, 'GET, HEAD, DELETE'],
])('%s %s is not allowed, and the answer names what is', async (method, path, allow) => {
  const response = await (await site()).ask(method, path);
  expect([response.status, response.headers.get('allow')]).toEqual([405, allow]);
  if (method !== 'HEAD') expect(await problem(response)).toMatchObject({status: 405, code: 'METHOD_NOT_ALLOWED'});
});

const nested = (levels: number): string => '['.repeat(levels) + ']'.repeat(levels);

test.each<[string, unknown, number, string, string?]>([
  ['no body', undefined, 422, 'INVALID_BODY'],
  ['malformed JSON', '{"appName": "app"', 400, 'MALFORMED_JSON'],
  ['a JSON array', '[]', 422, 'INVALID_BODY'],
  ['a JSON string', '"run"', 422, 'INVALID_BODY'],
  ['JSON that nests without end', `{"a": ${nested(100_000)}}`, 422, 'INVALID_BODY'],
  ['JSON that nests deeper than an Event may', `{"a": ${nested(450)}}`, 422, 'INVALID_BODY'],
  ['a number that no JSON can write', '{"stateDelta": {"a": 1e999}}', 422, 'INVALID_BODY'],
  ['one below zero', '{"stateDelta": [-1E+400]}', 422, 'INVALID_BODY'],
  ['one without an exponent', `{"a": ${'9'.repeat(400)}.5}`, 422, 'INVALID_BODY'],
  ['no app name', {...saying('x'), appName: undefined}, 422, 'INVALID_FIELD', 'appName'],
  ['an app name that is none', {...saying('x'), appName: 7}, 422, 'INVALID_FIELD', 'appName'],
  ['no user', {...saying('x'), userId: null}, 422, 'INVALID_FIELD', 'userId'],
  ['an empty session id', {...saying('x'), sessionId: ''}, 422, 'INVALID_FIELD', 'sessionId'],
  ['a NUL byte in a session id', {...saying('x'), sessionId: 's\0'}, 422, 'INVALID_FIELD', 'sessionId'],
  ['half a character in a session id', '{"appName": "app", "userId": "u", "sessionId": "\\ud800"}', 422, 'INVALID_FIELD', 'sessionId'],
  ['a huge user id', {...saying('x'), userId: LONG}, 422, 'INVALID_FIELD', 'userId'],
  ['a session id that no path can have', {...saying('x'), sessionId: '..'}, 422, 'INVALID_FIELD', 'sessionId'],
  ['a user id that no path can have', {...saying('x'), userId: '.'}, 422, 'INVALID_FIELD', 'userId'],
  ['an unknown app', {...saying('x'), appName: '__proto__'}, 404, 'APP_NOT_FOUND'],
  ['an unknown session', {...saying('x'), sessionId: 'none'}, 404, 'SESSION_NOT_FOUND'],
  ['no message', {...saying('x'), newMessage: undefined}, 422, 'INVALID_FIELD', 'newMessage'],
  ['a message that is a string', {...saying('x'), newMessage: 'hi'}, 422, 'INVALID_FIELD', 'newMessage'],
  ['a message of the model', {...saying('x'), newMessage: {role: 'model', parts: [{text: 'x'}]}}, 422, 'INVALID_FIELD', 'newMessage.role'],
  ['a message without parts', {...saying('x'), newMessage: {role: 'user', parts: []}}, 422, 'INVALID_FIELD', 'newMessage.parts'],
  ['an empty text', saying(''), 422, 'INVALID_FIELD', 'newMessage.parts'],
  ['a part that is none', {...saying('x'), newMessage: {parts: [7]}}, 422, 'INVALID_FIELD', 'newMessage.parts'],
  [
    'a call in the name of the model',
    {...saying('x'), new_message: undefined, newMessage: {parts: [{function_call: {name: 'x'}}]}},
    422,
    'INVALID_FIELD',
    'newMessage.parts',
  ],
  ['a streaming that is none', saying('x', {streaming: 'yes'}), 422, 'INVALID_FIELD', 'streaming'],
  ['a state delta that is none', saying('x', {stateDelta: [1]}), 422, 'INVALID_FIELD', 'stateDelta'],
  ['metadata that is none', saying('x', {custom_metadata: 1}), 422, 'INVALID_FIELD', 'customMetadata'],
  [
    'an answer to a call that nobody made',
    {...saying('x'), newMessage: {parts: [{functionResponse: {id: 'c', name: 'f', response: {}}}]}},
    409,
    'UNKNOWN_FUNCTION_CALL',
  ],
])('/run and /run_sse with %s are refused, and no model is asked', async (_, body, status, code, field) => {
  const it = await site({steps: ['never']});
  for (const path of ['/run', '/run_sse']) {
    const told = await problem(await it.ask('POST', path, body));
    expect(told).toMatchObject({status, code, ...(field !== undefined && {field})});
    expect(told.detail).toMatch(status === 422 ? /^Expected / : /./);
  }
  expect([it.model.calls, it.errors, await it.stored()]).toEqual([0, [], []]);
});

test.each<[string, readonly [string, string], unknown, number, string?]>([
  ['a state that is none', ['POST', `${USERS}/u/sessions`], {state: 'x'}, 422, 'state'],
  ['a session id that is none', ['POST', `${USERS}/u/sessions`], {sessionId: 7}, 422, 'sessionId'],
  ['an id that no path can have', ['POST', `${USERS}/u/sessions`], {session_id: '..'}, 422, 'sessionId'],
  ['an id that is a step of a path', ['POST', `${USERS}/u/sessions`], {sessionId: '.'}, 422, 'sessionId'],
  ['events that are no list', ['POST', `${USERS}/u/sessions`], {events: {}}, 422, 'events'],
  ['an event that is none', ['POST', `${USERS}/u/sessions`], {events: [{author: 'user'}, 7]}, 422, 'events[1]'],
  ['an event of nobody', ['POST', `${USERS}/u/sessions`], {events: [{}]}, 422, 'events[0].author'],
  ['a piece of an event', ['POST', `${USERS}/u/sessions`], {events: [{author: 'user', partial: true}]}, 422, 'events[0].partial'],
  ['an event without a time', ['POST', `${USERS}/u/sessions`], {events: [{author: 'user', timestamp: 'now'}]}, 422, 'events[0].timestamp'],
  [
    'an event with parts that are none',
    ['POST', `${USERS}/u/sessions`],
    {events: [{author: 'user', content: {parts: 1}}]},
    422,
    'events[0].content.parts',
  ],
  [
    'a delta that is none',
    ['POST', `${USERS}/u/sessions`],
    {events: [{author: 'user', actions: {state_delta: 1}}]},
    422,
    'events[0].actions.stateDelta',
  ],
  ['no delta', ['PATCH', SESSION], {}, 422, 'stateDelta'],
  ['no body', ['PATCH', SESSION], undefined, 422],
  ['a session that is not there', ['PATCH', `${USERS}/u/sessions/none`], {stateDelta: {}}, 404],
  ['an artifact without a name', ['POST', `${SESSION}/artifacts`], {artifact: {text: 'x'}}, 422, 'filename'],
  [
    'an artifact with a name that no path can have',
    ['POST', `${SESSION}/artifacts`],
    {filename: '..', artifact: {text: 'x'}},
    422,
    'filename',
  ],
  ['an artifact named as a version', ['POST', `${SESSION}/artifacts`], {filename: 'a/versions/b', artifact: {text: 'x'}}, 422, 'filename'],
  ['an artifact named as versions', ['POST', `${SESSION}/artifacts`], {filename: 'a/versions', artifact: {text: 'x'}}, 422, 'filename'],
  ['an artifact that is none', ['POST', `${SESSION}/artifacts`], {filename: 'a', artifact: {}}, 422, 'artifact'],
])('a session with %s is refused, and nothing is stored', async (_, [method, path], body, status, field) => {
  const it = await site({artifactService: new InMemoryArtifactService()});
  const before = await it.sessionService.listSessions({appName: 'app'});
  expect(await problem(await it.ask(method, path, body))).toMatchObject({status, ...(field !== undefined && {field})});
  expect([await it.sessionService.listSessions({appName: 'app'}), it.errors]).toEqual([before, []]);
});

test.each([
  ['text/plain', 415],
  ['application/x-www-form-urlencoded', 415],
  ['application/jsonp', 415],
  ['', 415],
  ['application/json; charset=utf-8', 404],
  ['APPLICATION/JSON', 404],
  ['application/vnd.api+json', 404],
])('a body of the type %o is answered with %i', async (type, status) => {
  const it = await site();
  const body = JSON.stringify(saying('x', {sessionId: 'none'}));
  const headers = type === '' ? {'content-type': 'x'} : {'content-type': type};
  expect((await problem(await it.ask('POST', '/run', body, {headers}))).status).toBe(status);
});

test('a body that is compressed, or no UTF-8, is refused', async () => {
  const it = await site();
  expect((await problem(await it.ask('POST', '/run', '{}', {headers: {'content-encoding': 'gzip'}}))).status).toBe(415);
  const bytes = new ReadableStream({
    start: (controller) => {
      controller.enqueue(Uint8Array.of(0x22, 0xff, 0x22));
      controller.close();
    },
  });
  expect(await problem(await it.ask('POST', '/run', bytes))).toMatchObject({status: 400, code: 'MALFORMED_JSON'});
});

test('a body over the limit is refused by its length, and while it is read, without reading on', async () => {
  const it = await site({maxBodyBytes: 1_000});
  const fits = JSON.stringify({state: {a: 'x'.repeat(1_000 - '{"state":{"a":""}}'.length)}});
  expect((await it.ask('POST', `${USERS}/u/sessions`, fits)).status).toBe(200);
  const told = await it.ask('POST', `${USERS}/u/sessions`, '{}', {headers: {'content-length': '1001'}});
  expect(await problem(told)).toMatchObject({status: 413, code: 'BODY_TOO_LARGE', detail: expect.stringContaining('1000 bytes')});
  let read = 0;
  const cancelled = Promise.withResolvers<void>();
  const endless = new ReadableStream({
    pull: (controller) => {
      read += 100;
      controller.enqueue(new Uint8Array(100).fill(0x20));
    },
    cancel: () => cancelled.resolve(),
  });
  expect((await problem(await it.ask('POST', '/run', endless))).status).toBe(413);
  await cancelled.promise;
  expect(read).toBeLessThan(1_500);
});

test('a body that breaks off is refused', async () => {
  const it = await site();
  const cut = new ReadableStream({
    pull: (controller) => controller.error(new Error('reset')),
  });
  expect(await problem(await it.ask('POST', '/run', cut))).toMatchObject({status: 400, code: 'BODY_CUT'});
  expect(it.errors).toEqual([]);
});

class FailingSessionService extends InMemorySessionService {
  override getSession(): Promise<undefined> {
    return Promise.reject(new Error('password authentication failed for user "postgres"'));
  }
}

test('a failure of a store is an answer without its words, and the log is told', async () => {
  const sessionService: BaseSessionService = new FailingSessionService();
  const it = await site({sessionService});
  for (const [method, path, body] of [
    ['GET', SESSION],
    ['POST', '/run', saying('Hi')],
    ['POST', '/run_sse', saying('Hi')],
  ] as const) {
    const told = await problem(await it.ask(method, path, body));
    expect([told.status, told.detail]).toEqual([500, 'internal error']);
  }
  expect(it.errors.map((error) => (error as Error).message)).toEqual(Array(3).fill('password authentication failed for user "postgres"'));
});

test('an onError that throws, at once or later, changes no answer', async () => {
  for (const onError of [
    () => {
      throw new Error('log');
    },
    () => Promise.reject(new Error('log')),
  ]) {
    const it = await site({sessionService: new FailingSessionService(), onError});
    expect((await it.ask('GET', SESSION)).status).toBe(500);
  }
});

test.each<[string, Partial<HandlerOptions> & {steps?: unknown[]}, number, string]>([
  ['takes too long', {steps: [hang()], runConfig: {timeoutMs: 20}}, 504, new RunTimeoutError(20).message],
  ['calls the model too often', {steps: [functionCalls({name: 'f'})], runConfig: {maxLlmCalls: 1}}, 500, 'limit'],
  ['has a model that fails', {steps: [new Error('the key is 1234')]}, 502, ''],
])('a run that %s is told as a problem', async (_, options, status, detail) => {
  const tools = [new FunctionTool({name: 'f', description: 'F.', execute: () => 1})];
  const it = await site({...(options as object), agent: {tools}});
  const told = await problem(await it.ask('POST', '/run', saying('Hi')));
  expect(told).toMatchObject({status, detail: expect.stringContaining(detail)});
  expect(told.detail).not.toContain('1234');
  expect(it.errors).toHaveLength(1);
});

test('what a model’s provider says is for the log; a client learns the kind, and when to try again', async () => {
  const said = new ModelError('Project 123456789012 of owner@corp.example has used up its quota', {
    code: 'RESOURCE_EXHAUSTED',
    status: 429,
    retryDelayMs: 34_400,
    retryable: true,
  });
  const it = await site({steps: [said, said]});
  for (const path of ['/run', '/run_sse']) {
    const response = await it.ask('POST', path, saying('Hi'));
    expect(response.headers.get('retry-after')).toBe('35');
    const detail = 'The model takes no more requests at the moment';
    expect(await problem(response)).toMatchObject({status: 502, code: 'RESOURCE_EXHAUSTED', detail});
  }
  expect(it.errors).toEqual([said]);
});

test('a model without a key is told without advice for the server', async () => {
  const it = await site({agent: {model: 'gemini-2.5-flash'}});
  const told = await problem(await it.ask('POST', '/run', saying('Hi')));
  expect(told).toMatchObject({status: 502, code: 'MISSING_API_KEY', detail: 'The server has no access to the model'});
  expect(String(it.errors[0])).toContain('GEMINI_API_KEY');
});

test('a run on a session that another one holds is a conflict', async () => {
  const asked = Promise.withResolvers<void>();
  const it = await site({steps: [() => (asked.resolve(), new Promise<never>(() => {}))], runConfig: {sessionWaitMs: 10}});
  const client = new AbortController();
  const first = it.ask('POST', '/run', saying('Hi'), {signal: client.signal});
  await asked.promise;
  expect(await problem(await it.ask('POST', '/run_sse', saying('Hi')))).toMatchObject({status: 409, code: 'SESSION_BUSY'});
  client.abort();
  expect((await first).status).toBe(499);
});

const agent = new LlmAgent({name: 'root', model: new ScriptedLlm()});
test.each<[string, unknown, RegExp]>([
  ['no options', undefined, /`handler`/],
  ['neither agents nor runner', {}, /exactly one of agents, runner and runners/],
  ['agents and a runner', {agents: {a: agent}, runners: []}, /`handler.runners`/],
  ['no agents', {agents: {}}, /`handler.agents`/],
  ['an agent without a name', {agents: {'': agent}}, /`handler.agents`/],
  ['an app that no path can name', {agents: {'..': agent}}, /`handler.agents`/],
  ['an app with a control character', {agents: {'a\n': agent}}, /`handler.agents`/],
  ['a runner that no path can name', {runner: new InMemoryRunner({appName: '.', agent})}, /`handler.runner`/],
  ['runners that no path can name', {runners: [new InMemoryRunner({appName: '.', agent})]}, /`handler.runners`/],
  ['an agent that is none', {agents: {a: {}}}, /`handler.agents`/],
  ['a list of agents', {agents: [agent]}, /`handler.agents`/],
  ['a runner that is none', {runner: {}}, /`handler.runner`/],
  ['an unknown option', {agents: {a: agent}, onDisconect: 'abort'}, /did you mean `onDisconnect`/],
  ['an unknown onDisconnect', {agents: {a: agent}, onDisconnect: 'stop'}, /"abort" or "continue"/],
  ['a limit of 0', {agents: {a: agent}, maxBodyBytes: 0}, /`handler.maxBodyBytes`/],
  ['a heartbeat of 0', {agents: {a: agent}, heartbeatMs: 0}, /`handler.heartbeatMs`/],
  ['cors that is true', {agents: {a: agent}, cors: true}, /`handler.cors`/],
  ['an origin with a path', {agents: {a: agent}, cors: ['https://a.example/']}, /`handler.cors`/],
  ['a base path without a slash', {agents: {a: agent}, basePath: 'api'}, /`handler.basePath`/],
  ['a base path with one at its end', {agents: {a: agent}, basePath: '/api/'}, /`handler.basePath`/],
  ['an authorize that is none', {agents: {a: agent}, authorize: true}, /`handler.authorize`/],
  ['a wrong runConfig', {agents: {a: agent}, runConfig: {timeoutMs: 0}}, /`runConfig.timeoutMs`/],
  ['a session service that is none', {agents: {a: agent}, sessionService: {}}, /`handler.sessionService`/],
])('a handler with %s is refused at once', (_, options, message) => {
  expect(() => createHandler(options as HandlerOptions)).toThrow(message);
});
