import {SessionNotFoundError} from '../errors.ts';
import {createEvent, type Event} from '../events/event.ts';
import {checkValues, isBoolean, isName, isNumber, isObject, optional, type Check} from '../schema/options.ts';
import type {BaseSessionService} from '../sessions/base-session-service.ts';
import type {Session, SessionKey} from '../sessions/session.ts';
import {camelKeys} from './camel-case.ts';
import type {Exchange} from './exchange.ts';
import {json} from './http-problem.ts';
import type {Route} from './router.ts';

const SESSIONS = '/apps/:appName/users/:userId/sessions';
const SESSION = `${SESSIONS}/:sessionId`;

/** ADK's routes for sessions. */
export const sessionRoutes: readonly Route[] = [
  {method: 'GET', path: SESSIONS, answer: listSessions},
  {method: 'POST', path: SESSIONS, answer: createSession},
  {method: 'GET', path: SESSION, answer: getSession},
  {method: 'POST', path: SESSION, answer: createNamedSession},
  {method: 'PATCH', path: SESSION, answer: updateSession},
  {method: 'DELETE', path: SESSION, answer: deleteSession},
];

/** @throws {@link SessionNotFoundError} */
export async function requireSession(service: BaseSessionService, key: SessionKey): Promise<Session> {
  const session = await service.getSession(key);
  if (!session) throw new SessionNotFoundError(key);
  return session;
}

async function listSessions(exchange: Exchange): Promise<Response> {
  const {runner, appName, userId} = await exchange.enter(exchange.parameters);
  const {sessions} = await runner.sessionService.listSessions({appName, userId});
  return json(sessions);
}

async function getSession(exchange: Exchange): Promise<Response> {
  const {runner, key} = await exchange.enterSession(exchange.parameters);
  return json(await requireSession(runner.sessionService, key));
}

async function createSession(exchange: Exchange): Promise<Response> {
  const {sessionId, ...body} = camelKeys((await exchange.readBody()) ?? {});
  if (typeof sessionId === 'string') {
    const {runner, key} = await exchange.enterSession({...exchange.parameters, sessionId});
    return json(await create(runner.sessionService, key, body));
  }
  const {runner, appName, userId} = await exchange.enter({...exchange.parameters, sessionId});
  return json(await create(runner.sessionService, {appName, userId}, body));
}

/** Older clients of ADK send the state as the whole body. */
async function createNamedSession(exchange: Exchange): Promise<Response> {
  const body = (await exchange.readBody()) ?? {};
  const {runner, key} = await exchange.enterSession(exchange.parameters);
  const isState = Object.keys(body).some((name) => !['state', 'events', 'sessionId', 'session_id'].includes(name));
  return json(await create(runner.sessionService, key, isState ? {state: body} : camelKeys(body)));
}

async function updateSession(exchange: Exchange): Promise<Response> {
  const {stateDelta} = camelKeys(await exchange.requireBody());
  const {runner, key} = await exchange.enterSession(exchange.parameters);
  checkValues('body', {stateDelta}, {stateDelta: isObject});
  const session = await requireSession(runner.sessionService, key);
  const event = createEvent({invocationId: `p-${crypto.randomUUID()}`, actions: {stateDelta: stateDelta as Record<string, unknown>}});
  await runner.sessionService.appendEvent({session, event});
  return json(session);
}

/** `null`, as ADK for Python answers: the client of ADK for JavaScript reads a body. */
async function deleteSession(exchange: Exchange): Promise<Response> {
  const {runner, key} = await exchange.enterSession(exchange.parameters);
  await requireSession(runner.sessionService, key);
  // A run would go on and find no place to store what it has done.
  await runner.cancel(key);
  await runner.sessionService.deleteSession(key);
  return json(null);
}

async function create(
  service: BaseSessionService,
  key: Omit<SessionKey, 'sessionId'> & Partial<SessionKey>,
  {state, events}: Readonly<Record<string, unknown>>,
): Promise<Session> {
  const isGiven = optional(isObject);
  checkValues('body', {state: state ?? undefined}, {state: isGiven});
  const imported = readEvents(events ?? []);
  const session = await service.createSession({...key, state: (state as Record<string, unknown> | null | undefined) ?? {}});
  try {
    for (const event of imported) await service.appendEvent({session, event});
  } catch (error) {
    await service.deleteSession({...key, sessionId: session.id});
    throw error;
  }
  return session;
}

/** Reads the Events of a session that comes from elsewhere, before any of it is stored. */
function readEvents(events: unknown): Event[] {
  const isList: Check = {expected: 'an array of Events', accepts: Array.isArray};
  checkValues('body', {events}, {events: isList});
  return (events as readonly unknown[]).map((given, index) => {
    checkValues('body', {[`events[${index}]`]: given}, {[`events[${index}]`]: isObject});
    const event = withoutNulls(camelKeys(given as Record<string, unknown>));
    checkValues<Record<string, unknown>>(`body.events[${index}]`, event, EVENT);
    const actions = withoutNulls((event['actions'] ?? {}) as Record<string, unknown>);
    checkValues<Record<string, unknown>>(`body.events[${index}].actions`, actions, {stateDelta: optional(isObject)});
    return createEvent({...event, actions});
  });
}

const EVENT: Readonly<Record<string, Check>> = {
  id: optional(isName),
  invocationId: optional({expected: 'a string', accepts: (value) => typeof value === 'string'}),
  author: isName,
  timestamp: optional(isNumber),
  content: optional({
    expected: 'a content, {role, parts: [...]}',
    accepts: (value) => isObject.accepts(value) && Array.isArray((value as {parts?: unknown}).parts ?? []),
  }),
  actions: optional(isObject),
  partial: optional({...isBoolean, expected: 'absent or false: only whole Events are stored', accepts: (value) => value === false}),
};

/** Some clients write `null` for what is absent. */
function withoutNulls(record: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(record).filter(([, value]) => value !== null));
}
