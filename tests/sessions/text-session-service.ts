import {SessionConflictError, SessionExistsError, SessionNotFoundError} from '../../lib/errors.ts';
import type {Event} from '../../lib/events/event.ts';
import {
  type AppendEventRequest,
  BaseSessionService,
  type CreateSessionRequest,
  type GetSessionRequest,
  type ListSessionsRequest,
  type ListSessionsResponse,
} from '../../lib/sessions/base-session-service.ts';
import {checkGetSessionConfig, checkName, checkRecord, checkSessionKey} from '../../lib/sessions/check-session-arguments.ts';
import type {Session, SessionKey} from '../../lib/sessions/session.ts';
import {applyDelta, withoutTemporary} from '../../lib/sessions/state.ts';
import {checkedCopy} from '../../lib/schema/json-copy.ts';

/** What such a store may be told to get wrong. */
export type Fault =
  | 'overwrites'
  | 'shares references'
  | 'appends twice'
  | 'leaks temp:'
  | 'forgets removal'
  | 'loses shared writes'
  | 'accepts stale epochs';

interface Row {
  readonly key: SessionKey;
  readonly events: {readonly id: string; readonly body: unknown}[];
  state: Record<string, unknown>;
  lastUpdateTime: number;
}

/**
 * A store of ADK's five methods, written as somebody outside would: rows of text beside what the base class does, all state found by
 * scanning. With faults it is the store that a conformance suite must catch.
 */
export class TextSessionService extends BaseSessionService {
  protected readonly faults: ReadonlySet<Fault>;
  readonly #rows = new Map<string, Row>();
  readonly #shared = new Map<string, Record<string, unknown>>();

  constructor(...faults: Fault[]) {
    super();
    this.faults = new Set(faults);
  }

  override async createSession({appName, userId, sessionId = crypto.randomUUID(), state = {}}: CreateSessionRequest): Promise<Session> {
    const key = {appName, userId, sessionId};
    checkSessionKey(key);
    checkRecord('state', state);
    const initial = this.faults.has('shares references') ? state : checkedCopy(state, 'state');
    const id = JSON.stringify([appName, userId, sessionId]);
    if (this.#rows.has(id) && !this.faults.has('overwrites')) throw new SessionExistsError(sessionId);
    const row: Row = {key, events: [], state: {}, lastUpdateTime: Date.now()};
    this.#rows.set(id, row);
    this.#apply(row, initial);
    return this.#read(row, []);
  }

  override async getSession({appName, userId, sessionId, config = {}}: GetSessionRequest): Promise<Session | undefined> {
    const key = {appName, userId, sessionId};
    checkSessionKey(key);
    checkGetSessionConfig(config);
    const row = this.#find(key);
    if (!row) return undefined;
    const {numRecentEvents: count = row.events.length, afterTimestamp: after = -Infinity} = config;
    const events = row.events.slice(Math.max(0, row.events.length - count)).map(({body}) => this.#decode(body));
    return this.#read(
      row,
      events.filter(({timestamp}) => timestamp >= after),
    );
  }

  override async listSessions({appName, userId}: ListSessionsRequest): Promise<ListSessionsResponse> {
    checkName('appName', appName);
    const rows = [...this.#rows.values()].filter(({key}) => key.appName === appName && (userId === undefined || key.userId === userId));
    return {sessions: rows.map((row) => this.#read(row, []))};
  }

  override async deleteSession(key: SessionKey): Promise<void> {
    checkSessionKey(key);
    this.#rows.delete(JSON.stringify([key.appName, key.userId, key.sessionId]));
  }

  override async appendEvent(request: AppendEventRequest): Promise<Event> {
    const {session} = request;
    const key = {appName: session.appName, userId: session.userId, sessionId: session.id};
    const row = this.#find(key);
    if (!row) throw new SessionNotFoundError(key);
    const stored = await super.appendEvent(request);
    if (stored.partial) return stored;
    const present = row.events.find(({id}) => id === stored.id);
    if (present && !this.faults.has('appends twice')) return this.#decode(present.body);
    row.events.push({id: stored.id, body: this.#encode(this.faults.has('shares references') ? request.event : stored)});
    row.lastUpdateTime = stored.timestamp;
    this.#apply(row, this.faults.has('leaks temp:') ? request.event.actions.stateDelta : stored.actions.stateDelta);
    return stored;
  }

  #find({appName, userId, sessionId}: SessionKey): Row | undefined {
    return this.#rows.get(JSON.stringify([appName, userId, sessionId]));
  }

  #apply(row: Row, delta: Readonly<Record<string, unknown>>): void {
    const {appName, userId} = row.key;
    const kept = Object.entries(this.faults.has('leaks temp:') ? delta : withoutTemporary(delta));
    const part = (wanted: string): Record<string, unknown> => Object.fromEntries(kept.filter(([key]) => scopeOf(key) === wanted));
    const write = this.faults.has('forgets removal') ? (state: object, changes: object) => ({...state, ...changes}) : applyDelta;
    row.state = write(row.state, part('session'));
    for (const [scope, id] of [
      ['app', appName],
      ['user', JSON.stringify([appName, userId])],
    ] as const) {
      this.#shared.set(
        `${scope}${id}`,
        write(this.faults.has('loses shared writes') ? {} : (this.#shared.get(`${scope}${id}`) ?? {}), part(scope)),
      );
    }
  }

  #read(row: Row, events: Event[]): Session {
    const {appName, userId, sessionId} = row.key;
    const shared = {...this.#shared.get(`app${appName}`), ...this.#shared.get(`user${JSON.stringify([appName, userId])}`)};
    const state = {...shared, ...row.state};
    const own = this.faults.has('shares references') ? state : checkedCopy(state);
    return {id: sessionId, appName, userId, state: own, events, lastUpdateTime: row.lastUpdateTime};
  }

  #encode(event: Event): unknown {
    return this.faults.has('shares references') ? event : JSON.stringify(event);
  }

  #decode(body: unknown): Event {
    return (typeof body === 'string' ? JSON.parse(body) : body) as Event;
  }
}

/** The same with epochs. */
export class EpochSessionService extends TextSessionService {
  readonly #epochs = new Map<string, number>();
  #last = 0;

  override async createSession(request: CreateSessionRequest): Promise<Session> {
    const session = await super.createSession(request);
    this.#claim(session.appName, session.userId, session.id);
    return session;
  }

  override async claimSession({appName, userId, sessionId}: SessionKey): Promise<number> {
    if (!(await this.getSession({appName, userId, sessionId}))) throw new SessionNotFoundError({appName, userId, sessionId});
    return this.#claim(appName, userId, sessionId);
  }

  override async appendEvent(request: AppendEventRequest): Promise<Event> {
    const {session, event, epoch = Infinity} = request;
    const current = this.#epochs.get(JSON.stringify([session?.appName, session?.userId, session?.id])) ?? 0;
    if (epoch < current && !this.faults.has('accepts stale epochs')) throw new SessionConflictError(session.id, [event]);
    return super.appendEvent(request);
  }

  #claim(...key: string[]): number {
    this.#last += 1;
    this.#epochs.set(JSON.stringify(key), this.#last);
    return this.#last;
  }
}

function scopeOf(key: string): 'app' | 'user' | 'session' {
  if (key.startsWith('app:')) return 'app';
  return key.startsWith('user:') ? 'user' : 'session';
}
