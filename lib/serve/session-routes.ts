import {SessionNotFoundError} from '../errors.ts';
import {createEvent} from '../events/event.ts';
import {checkValues, isObject, optional} from '../schema/options.ts';
import type {BaseSessionService} from '../sessions/base-session-service.ts';
import type {Session, SessionKey} from '../sessions/session.ts';
import {fieldsOf} from './camel-case.ts';
import type {Exchange} from './exchange.ts';
import {json} from './http-problem.ts';
import {readEvents} from './imported-events.ts';
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
  const {runner, appName, userId} = await exchange.enter(exchange.parameters);
  const {sessionId, ...given} = fieldsOf((await exchange.readBody()) ?? {}, ['sessionId', 'state', 'events']);
  return create(exchange, runner.sessionService, {appName, userId, sessionId: exchange.name('sessionId', sessionId)}, given);
}

/** Older clients of ADK send the state as the whole body. */
async function createNamedSession(exchange: Exchange): Promise<Response> {
  const {runner, key} = await exchange.enterSession(exchange.parameters);
  const body = (await exchange.readBody()) ?? {};
  const isState = Object.keys(body).some((name) => !['state', 'events', 'sessionId', 'session_id'].includes(name));
  return create(exchange, runner.sessionService, key, isState ? {state: body} : fieldsOf(body, ['state', 'events']));
}

async function updateSession(exchange: Exchange): Promise<Response> {
  const {runner, key} = await exchange.enterSession(exchange.parameters);
  const {stateDelta} = fieldsOf(await exchange.requireBody(), ['stateDelta']);
  checkValues('body', {stateDelta}, {stateDelta: isObject});
  exchange.checkState('stateDelta', stateDelta);
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
  exchange.service.runs.dropFeeds(key);
  return json(null);
}

async function create(
  exchange: Exchange,
  service: BaseSessionService,
  {sessionId, ...user}: {readonly appName: string; readonly userId: string; readonly sessionId: string | undefined},
  {state, events = []}: {readonly state?: unknown; readonly events?: unknown},
): Promise<Response> {
  checkValues('body', {state}, {state: optional(isObject)});
  exchange.checkState('state', state);
  const imported = readEvents(events);
  for (const [index, {actions}] of imported.entries()) exchange.checkState(`events[${index}].actions.stateDelta`, actions.stateDelta);
  const initial = (state as Record<string, unknown> | undefined) ?? {};
  const session = await service.createSession({...user, state: initial, ...(sessionId !== undefined && {sessionId})});
  try {
    for (const event of imported) await service.appendEvent({session, event});
  } catch (error) {
    await service.deleteSession({...user, sessionId: session.id});
    throw error;
  }
  return json(session);
}
