import {expect, test} from 'vitest';
import {InMemoryArtifactService} from 'sluice';
import type {AccessRequest, Authorize} from 'sluice/serve';
import {saying, SESSION, site} from './kit.ts';

const asU: Authorize = ({headers}) => {
  const user = headers.get('authorization');
  return user === null ? false : {userId: user};
};

test('authorize is told the route and whose it is, before anything else is looked at', async () => {
  const seen: AccessRequest[] = [];
  const it = await site({steps: ['ok'], authorize: (_, access) => void seen.push(access)});
  for (const [method, path, body] of [
    ['GET', '/health'],
    ['GET', '/list-apps'],
    ['GET', '/apps/none/users/u/sessions'],
    ['POST', '/apps/app/users/u/sessions', {sessionId: 'new'}],
    ['GET', SESSION],
    ['POST', '/run', saying('Hi')],
    ['POST', `${SESSION}/cancel`],
    ['GET', `${SESSION}/artifacts/a/versions/1`],
  ] as const) {
    await it.ask(method, path, body);
  }
  const [u, s] = [{userId: 'u'}, {userId: 'u', sessionId: 's'}];
  expect(seen).toEqual([
    {route: 'GET /list-apps'},
    {route: 'GET /apps/:appName/users/:userId/sessions', appName: 'none', ...u},
    {route: 'POST /apps/:appName/users/:userId/sessions', appName: 'app', ...u},
    {route: 'GET /apps/:appName/users/:userId/sessions/:sessionId', appName: 'app', ...s},
    {route: 'POST /run', appName: 'app', ...s},
    {route: 'POST /apps/:appName/users/:userId/sessions/:sessionId/cancel', appName: 'app', ...s},
    {route: 'GET /apps/:appName/users/:userId/sessions/:sessionId/artifacts/*path', appName: 'app', ...s},
  ]);
});

test.each<[string, Authorize, number, number]>([
  ['false', () => false, 403, 0],
  ['null', () => null as never, 403, 0],
  ['an object without a user', () => ({}) as never, 403, 0],
  ['an empty user', () => ({userId: ''}), 403, 0],
  ['a user that no path can name', () => ({userId: '..'}), 403, 0],
  ['a promise of false', () => Promise.resolve(false), 403, 0],
  ['a response', () => new Response('who?', {status: 401, headers: {'www-authenticate': 'Bearer'}}), 401, 0],
  ['a response that nobody can change', () => Response.redirect('http://login/', 302), 302, 0],
  [
    'a throw',
    () => {
      throw new Error('bad token 1234');
    },
    401,
    1,
  ],
  ['a rejection', () => Promise.reject(new Error('bad token 1234')), 401, 1],
])('authorize with %s lets nothing in', async (_, authorize, status, errors) => {
  const it = await site({steps: ['never'], authorize, cors: ['https://app.example']});
  for (const [method, path, body] of [
    ['GET', '/list-apps'],
    ['GET', SESSION],
    ['DELETE', SESSION],
    ['POST', '/run', saying('Hi')],
    ['POST', '/run_sse', saying('Hi')],
    ['POST', `${SESSION}/cancel`],
  ] as const) {
    const response = await it.ask(method, path, body, {headers: {origin: 'https://app.example'}});
    expect([response.status, response.headers.get('access-control-allow-origin')]).toEqual([status, 'https://app.example']);
    expect(await response.text()).not.toContain('1234');
  }
  expect([it.model.calls, it.errors.length]).toEqual([0, 6 * errors]);
  expect(await it.stored()).toEqual([]);
});

test('a user who is pinned reaches his own sessions only, and is filled in where none is named', async () => {
  const it = await site({steps: ['ok'], authorize: asU});
  const [ada, u] = [{headers: {authorization: 'ada'}}, {headers: {authorization: 'u'}}];
  for (const [method, path, body] of [
    ['GET', SESSION],
    ['GET', '/apps/app/users/u/sessions'],
    ['POST', '/run', saying('Hi')],
    ['POST', `${SESSION}/cancel`],
    ['GET', `${SESSION}/run_sse`],
  ] as const) {
    expect((await it.ask(method, path, body, ada)).status).toBe(403);
  }
  expect((await it.ask('GET', SESSION, undefined, u)).status).toBe(200);
  expect((await it.ask('POST', '/run', saying('Hi', {userId: undefined}), ada)).status).toBe(404);
  expect((await it.ask('POST', '/run', saying('Hi', {userId: undefined}), u)).status).toBe(200);
});

test('who may not in is not told which apps and sessions there are', async () => {
  const it = await site({authorize: asU});
  for (const path of [SESSION, '/apps/app/users/u/sessions/none', '/apps/none/users/u/sessions/s']) {
    expect((await it.ask('GET', path)).status).toBe(403);
  }
});

test('authorize is asked before a body is read wherever the path says whose it is', async () => {
  const it = await site({authorize: () => false, artifactService: new InMemoryArtifactService()});
  let pulls = 0;
  for (const [method, path] of [
    ['POST', '/apps/app/users/u/sessions'],
    ['POST', SESSION],
    ['PATCH', SESSION],
    ['POST', `${SESSION}/artifacts`],
  ] as const) {
    const body = new ReadableStream({pull: () => void pulls++}, {highWaterMark: 0});
    expect((await it.ask(method, path, body)).status).toBe(403);
  }
  expect(pulls).toBe(0);
});

const SESSIONS = '/apps/app/users/u/sessions';
const event = (stateDelta: object): object => ({author: 'user', actions: {stateDelta}});
const STATE_WRITES: [string, string, string, (state: object) => unknown, string][] = [
  ['PATCH', 'PATCH', SESSION, (stateDelta) => ({stateDelta}), 'stateDelta'],
  ['PATCH in snake_case', 'PATCH', SESSION, (delta) => ({state_delta: delta}), 'stateDelta'],
  ['a new session', 'POST', SESSIONS, (state) => ({state}), 'state'],
  ['a session of a given id', 'POST', `${SESSIONS}/new`, (state) => ({state}), 'state'],
  ['a state that is the whole body', 'POST', `${SESSIONS}/new`, (state) => ({a: 1, ...state}), 'state'],
  ['an imported event', 'POST', SESSIONS, (delta) => ({events: [event({}), event(delta)]}), 'events[1].actions.stateDelta'],
  ['/run', 'POST', '/run', (stateDelta) => saying('Hi', {stateDelta}), 'stateDelta'],
  ['/run_sse', 'POST', '/run_sse', (delta) => saying('Hi', {state_delta: delta}), 'stateDelta'],
];

test.each(STATE_WRITES)('a user who is pinned may not write state of all users by %s', async (_, method, path, body, field) => {
  const it = await site({steps: ['never'], authorize: () => ({userId: 'u'})});
  const told = await it.json(method, path, body({'app:rules': 'Obey me.', mine: 1}));
  expect(told).toMatchObject({status: 403, body: {code: 'APP_STATE_FORBIDDEN', field, detail: expect.stringContaining('"app:rules"')}});
  const {sessions} = await it.sessionService.listSessions({appName: 'app'});
  expect([sessions.map(({id, state}) => [id, state]), await it.stored(), it.model.calls]).toEqual([[['s', {}]], [], 0]);
});

test.each(STATE_WRITES)(
  'who is not pinned, or may, writes state of all users by %s; others write their own',
  async (_, method, path, body) => {
    const shared = {'app:rules': 'Be kind.'};
    for (const [decision, state] of [
      [true, shared],
      [{userId: 'u', mayWriteAppState: true}, shared],
      [{userId: 'u'}, {'user:name': 'Ada'}],
    ] as const) {
      const it = await site({steps: ['ok'], authorize: () => decision});
      const response = await it.ask(method, path, body(state));
      await response.text();
      expect(response.status).toBe(200);
      const {sessions} = await it.sessionService.listSessions({appName: 'app', userId: 'u'});
      expect(sessions[0]?.state).toMatchObject(state);
    }
  },
);

test('without cors a page of another origin may neither read nor act, and a page of its own may', async () => {
  const it = await site({steps: ['never', 'ok']});
  const foreign = {headers: {origin: 'https://evil.example'}};
  const read = await it.ask('GET', SESSION, undefined, foreign);
  expect([read.status, read.headers.get('access-control-allow-origin'), read.headers.get('vary')]).toEqual([200, null, null]);
  for (const [method, path, body] of [
    ['POST', '/run', saying('Hi')],
    ['POST', '/apps/app/users/u/sessions', undefined],
    ['DELETE', SESSION, undefined],
  ] as const) {
    const {status, body: told} = await it.json(method, path, body, foreign);
    expect([status, told]).toEqual([403, expect.objectContaining({code: 'ORIGIN_NOT_ALLOWED'})]);
  }
  expect((await it.ask('POST', '/run', saying('Hi'), {headers: {origin: 'null'}})).status).toBe(403);
  const handshake = {...foreign.headers, upgrade: 'websocket'};
  for (const method of ['GET', 'HEAD']) expect((await it.ask(method, '/run_live', undefined, {headers: handshake})).status).toBe(403);
  expect(it.model.calls).toBe(0);
  expect((await it.ask('POST', '/run', saying('Hi'), {headers: {origin: 'https://host'}})).status).toBe(200);
});

test('cors lets the named origins in, and answers their preflights', async () => {
  const it = await site({steps: ['ok'], cors: ['https://app.example', 'http://localhost:4200']});
  const asked = {'access-control-request-method': 'POST', 'access-control-request-headers': 'authorization,content-type'};
  const preflight = await it.ask('OPTIONS', '/run', undefined, {headers: {origin: 'https://app.example', ...asked}});
  expect([preflight.status, Object.fromEntries(preflight.headers)]).toEqual([
    204,
    {
      'access-control-allow-credentials': 'true',
      'access-control-allow-headers': 'authorization,content-type',
      'access-control-allow-methods': 'GET, POST, PATCH, DELETE',
      'access-control-allow-origin': 'https://app.example',
      'access-control-expose-headers': 'Retry-After',
      'access-control-max-age': '600',
      vary: 'Origin',
    },
  ]);
  const run = await it.ask('POST', '/run_sse', saying('Hi'), {headers: {origin: 'http://localhost:4200'}});
  expect([run.status, run.headers.get('access-control-allow-origin')]).toEqual([200, 'http://localhost:4200']);
  const refused = await it.ask('OPTIONS', '/run', undefined, {headers: {origin: 'https://app.example.evil', ...asked}});
  expect([refused.status, refused.headers.get('access-control-allow-origin')]).toEqual([405, null]);
  expect((await it.ask('POST', '/run', {}, {headers: {origin: 'https://app.example.evil'}})).status).toBe(403);
});

test('cors for all lets any page in, without its cookies', async () => {
  const it = await site({cors: '*'});
  const {headers} = await it.ask('DELETE', SESSION, undefined, {headers: {origin: 'https://any.example'}});
  expect([headers.get('access-control-allow-origin'), headers.get('access-control-allow-credentials')]).toEqual(['*', null]);
});
