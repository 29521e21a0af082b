import {SessionConflictError, SessionExistsError, SessionNotFoundError} from '../errors.ts';
import type {Event} from '../events/event.ts';
import {frozenCopy} from '../schema/json-copy.ts';
import {
  type AppendEventRequest,
  BaseSessionService,
  type CreateSessionRequest,
  type GetSessionRequest,
  type ListSessionsRequest,
  type ListSessionsResponse,
  recordStored,
  toStored,
} from './base-session-service.ts';
import {checkAppend, checkGetSessionConfig, checkName, checkRecord, checkSessionKey} from './check-session-arguments.ts';
import {selectEvents} from './select-events.ts';
import type {Session, SessionKey} from './session.ts';
import {isTemporary, State, writeKey} from './state.ts';

/**
 * Sessions in this process's memory: for tests, for tools that live as long as their process, and the reference for other stores.
 *
 * Nothing is ever dropped but by `deleteSession`. An append costs the same however long the session is; `getSession` copies one pointer
 * per Event, since stored Events are frozen.
 *
 * @example
 * ```ts
 * import {createEvent, InMemorySessionService} from 'sluice';
 *
 * const service = new InMemorySessionService();
 * const session = await service.createSession({appName: 'demo', userId: 'ada', state: {'user:name': 'Ada'}});
 * await service.appendEvent({session, event: createEvent({content: {role: 'user', parts: [{text: 'Hello'}]}})});
 * ```
 */
export class InMemorySessionService extends BaseSessionService {
  readonly #apps = new Map<string, StoredApp>();
  /** One count for all sessions, so that a run on a deleted session is stale in one that takes its id. */
  #lastEpoch = 0;

  override async createSession(request: CreateSessionRequest): Promise<Session> {
    const {appName, userId, sessionId = crypto.randomUUID(), state = {}} = request;
    checkSessionKey({appName, userId, sessionId});
    checkRecord('state', state);
    const initial = frozenCopy(state, 'state');
    const app = entryOf(this.#apps, appName, newApp);
    const user = entryOf(app.users, userId, newUser);
    if (user.sessions.has(sessionId)) throw new SessionExistsError(sessionId);
    this.#lastEpoch += 1;
    const stored: StoredSession = {events: [], byId: new Map(), state: {}, initial: {}, lastUpdateTime: Date.now(), epoch: this.#lastEpoch};
    user.sessions.set(sessionId, stored);
    const place = {app, user, stored};
    applyScoped(place, initial);
    stored.initial = {...stored.state};
    return toRecord({appName, userId, sessionId}, place, []);
  }

  override async getSession({appName, userId, sessionId, config = {}}: GetSessionRequest): Promise<Session | undefined> {
    const key = {appName, userId, sessionId};
    checkGetSessionConfig(config);
    const place = this.#find(key);
    return place && toRecord(key, place, selectEvents(place.stored.events, config));
  }

  override async listSessions({appName, userId}: ListSessionsRequest): Promise<ListSessionsResponse> {
    checkName('appName', appName);
    if (userId !== undefined) checkName('userId', userId);
    const sessions: Session[] = [];
    const app = this.#apps.get(appName);
    if (!app) return {sessions};
    for (const [owner, user] of app.users) {
      if (userId !== undefined && owner !== userId) continue;
      for (const [sessionId, stored] of user.sessions)
        sessions.push(toRecord({appName, userId: owner, sessionId}, {app, user, stored}, []));
    }
    return {sessions};
  }

  override async deleteSession({appName, userId, sessionId}: SessionKey): Promise<void> {
    checkSessionKey({appName, userId, sessionId});
    const app = this.#apps.get(appName);
    const user = app?.users.get(userId);
    if (!app || !user) return;
    user.sessions.delete(sessionId);
    // A service that lives long sees many users; one without sessions and without state is as good as never seen.
    if (user.sessions.size === 0 && Object.keys(user.state).length === 0) app.users.delete(userId);
  }

  override async claimSession(key: SessionKey): Promise<number> {
    const {stored} = this.#require(key);
    this.#lastEpoch += 1;
    stored.epoch = this.#lastEpoch;
    return stored.epoch;
  }

  override async getInitialState(key: SessionKey): Promise<Readonly<Record<string, unknown>>> {
    return this.#require(key).stored.initial;
  }

  override async appendEvent({session, event, epoch}: AppendEventRequest): Promise<Event> {
    checkAppend(session, event);
    if (event.partial) return event;
    const place = this.#require({appName: session.appName, userId: session.userId, sessionId: session.id});
    const known = place.stored.byId.get(event.id);
    if (known) {
      catchUp(session, place, event, known);
      return known;
    }
    if (epoch !== undefined && !(epoch >= place.stored.epoch)) throw new SessionConflictError(session.id, [event]);
    const form = toStored(event);
    const {stored} = form;
    place.stored.events.push(stored);
    place.stored.byId.set(stored.id, stored);
    place.stored.lastUpdateTime = stored.timestamp;
    applyScoped(place, stored.actions.stateDelta);
    recordStored(session, form);
    return stored;
  }

  #find({appName, userId, sessionId}: SessionKey): Place | undefined {
    checkSessionKey({appName, userId, sessionId});
    const app = this.#apps.get(appName);
    const user = app?.users.get(userId);
    const stored = user?.sessions.get(sessionId);
    return app && user && stored && {app, user, stored};
  }

  #require(key: SessionKey): Place {
    const place = this.#find(key);
    if (!place) throw new SessionNotFoundError(key);
    return place;
  }
}

/** The records of state are changed in place and never handed out; their values are frozen. Keys keep their prefix. */
interface StoredApp {
  readonly state: Record<string, unknown>;
  readonly users: Map<string, StoredUser>;
}

interface StoredUser {
  readonly state: Record<string, unknown>;
  readonly sessions: Map<string, StoredSession>;
}

interface StoredSession {
  readonly events: Event[];
  readonly byId: Map<string, Event>;
  readonly state: Record<string, unknown>;
  initial: Readonly<Record<string, unknown>>;
  lastUpdateTime: number;
  epoch: number;
}

interface Place {
  readonly app: StoredApp;
  readonly user: StoredUser;
  readonly stored: StoredSession;
}

const newApp = (): StoredApp => ({state: {}, users: new Map()});
const newUser = (): StoredUser => ({state: {}, sessions: new Map()});

function entryOf<T>(map: Map<string, T>, key: string, create: () => T): T {
  const present = map.get(key);
  if (present !== undefined) return present;
  const created = create();
  map.set(key, created);
  return created;
}

function applyScoped({app, user, stored}: Place, delta: Readonly<Record<string, unknown>>): void {
  for (const key of Object.keys(delta)) {
    if (isTemporary(key)) continue;
    const scope = key.startsWith(State.APP_PREFIX) ? app : key.startsWith(State.USER_PREFIX) ? user : stored;
    writeKey(scope.state, key, delta[key]);
  }
}

function toRecord({appName, userId, sessionId}: SessionKey, place: Place, events: Event[]): Session {
  return {id: sessionId, appName, userId, state: mergedState(place), events, lastUpdateTime: place.stored.lastUpdateTime};
}

function mergedState({app, user, stored}: Place): Record<string, unknown> {
  return {...app.state, ...user.state, ...stored.state};
}

/**
 * Brings a record up to date with an Event that is stored already, when it lacks it: after a retry of an append whose answer was lost. Its
 * delta must not be applied again, since later Events may have written the same keys; only what was never stored is.
 */
function catchUp(session: Session, place: Place, event: Event, known: Event): void {
  if (session.events.some(({id}) => id === known.id)) return;
  const state = mergedState(place);
  for (const source of [session.state, event.actions.stateDelta]) {
    for (const key of Object.keys(source)) if (isTemporary(key)) writeKey(state, key, frozenCopy(source[key], key));
  }
  session.state = state;
  session.events.push(known);
  session.lastUpdateTime = place.stored.lastUpdateTime;
}
