import type {Event} from '../events/event.ts';
import {frozenCopy} from '../schema/json-copy.ts';
import {checkAppend} from './check-session-arguments.ts';
import type {Session, SessionKey} from './session.ts';
import {applyDelta, withoutTemporary} from './state.ts';

/** What `createSession` takes. */
export interface CreateSessionRequest {
  readonly appName: string;
  readonly userId: string;
  /** Initial state; keys with `app:` and `user:` go to their scopes, `temp:` keys are dropped. Default: empty. */
  readonly state?: Record<string, unknown>;
  /** A new UUID where it is missing. */
  readonly sessionId?: string;
}

/** What `getSession` takes. */
export interface GetSessionRequest extends SessionKey {
  readonly config?: GetSessionConfig;
}

/** Which Events to return; with both options, those that both allow. The state is always whole. */
export interface GetSessionConfig {
  /** Only the last so many; 0 gives none. */
  readonly numRecentEvents?: number;
  /** Only those at this time or later, in milliseconds since 1970. */
  readonly afterTimestamp?: number;
}

/** What `listSessions` takes. */
export interface ListSessionsRequest {
  readonly appName: string;
  /** Sessions of all users where it is missing. */
  readonly userId?: string;
}

/** What `listSessions` gives. */
export interface ListSessionsResponse {
  /** Without their Events. */
  readonly sessions: Session[];
}

/** What `appendEvent` takes. */
export interface AppendEventRequest {
  /** Updated in place: the Event is added, the state replaced. */
  readonly session: Session;
  readonly event: Event;
  /** The epoch of the run that writes; without one the write is from outside a run and always accepted. */
  readonly epoch?: number;
}

/**
 * Keeps sessions. ADK's five methods are all that a store needs; `claimSession` is for stores that several processes share, `getInitialState` for rewinds.
 *
 * What a caller changes in a record that it gave or got changes nothing stored. The Events in a record may be frozen; the record, its
 * `state` and its `events` are the caller's own. Every method refuses a name that is not a non-empty string, and an option that cannot be
 * used, with an {@link InvalidOptionError}. `sessionServiceSuite` of `sluice/testing` checks a store against all of this.
 *
 * A run never waits for a store longer than its grace, and gives it no signal: a write that was started is finished.
 *
 * @example
 * ```ts
 * import {BaseSessionService, InMemorySessionService, type AppendEventRequest, type Event} from 'sluice';
 *
 * // Says what is stored, beside storing it.
 * class LoggingSessionService extends InMemorySessionService {
 *   override async appendEvent(request: AppendEventRequest): Promise<Event> {
 *     const stored = await super.appendEvent(request);
 *     console.log(`${stored.author}: ${stored.id}`);
 *     return stored;
 *   }
 * }
 * const service: BaseSessionService = new LoggingSessionService();
 * await service.createSession({appName: 'demo', userId: 'ada'});
 * ```
 */
export abstract class BaseSessionService {
  /**
   * Makes a session.
   *
   * @throws {@link SessionExistsError} where the id is taken
   */
  abstract createSession(request: CreateSessionRequest): Promise<Session>;

  /** The session, or `undefined` where there is none. Its Events stand in the order in which they were appended. */
  abstract getSession(request: GetSessionRequest): Promise<Session | undefined>;

  /** The session, created where there is none; its id is needed. */
  async getOrCreateSession(request: CreateSessionRequest & GetSessionRequest): Promise<Session> {
    return (await this.getSession(request)) ?? this.createSession(request);
  }

  /** The sessions of an app, or of one of its users, in no particular order. */
  abstract listSessions(request: ListSessionsRequest): Promise<ListSessionsResponse>;

  /** Deletes a session; it is no error if there is none. Scopes shared with others stay. */
  abstract deleteSession(request: SessionKey): Promise<void>;

  /**
   * Takes the session over for one run, in all processes: writes with an older epoch are refused from now on. Resolves with the new
   * epoch, a whole number above all that were given out for this session before, also for one of the same id that was deleted.
   *
   * Optional. A store without it relies on the queue within one process.
   *
   * @throws {@link SessionNotFoundError} where there is no such session
   */
  claimSession?(request: SessionKey): Promise<number>;

  /**
   * What a session's own state was when it was made, so that a rewind can bring back what no Event tells: keys without a prefix.
   *
   * Optional. Of a store without it a rewind takes it that there was nothing.
   *
   * @throws {@link SessionNotFoundError} where there is no such session
   */
  getInitialState?(request: SessionKey): Promise<Readonly<Record<string, unknown>>>;

  /**
   * Appends an Event, and resolves with what was stored: a frozen copy, taken before this returns, without `temp:` keys.
   *
   * - The caller's `session` gets that copy and the new state; the state holds the `temp:` keys too.
   * - An id that was appended before is not appended again, wherever it stands: the Event stored first is returned.
   * - A partial Event is returned as it is; nothing else happens.
   *
   * This default keeps the caller's record and nothing else. A store writes what it resolves with, keyed by the Event's id.
   *
   * @throws {@link InvalidOptionError} naming the path, where JSON cannot hold the Event; nothing is stored then
   * @throws {@link SessionNotFoundError} where the session is gone
   * @throws {@link SessionConflictError} where `epoch` is older than the last claim; it holds the Event
   */
  async appendEvent({session, event}: AppendEventRequest): Promise<Event> {
    checkAppend(session, event);
    return recordEvent(session, event);
  }
}

/** What becomes of an Event that is appended. */
export interface StoredForm {
  /** What a store keeps: a frozen copy without `temp:` keys. */
  readonly stored: Event;
  /** A frozen copy of the whole delta, `temp:` keys included: what the caller's record gets. */
  readonly delta: Readonly<Record<string, unknown>>;
}

/**
 * Makes the copies that isolate a store from its callers.
 *
 * @throws {@link InvalidOptionError} naming the path of what JSON cannot hold
 */
export function toStored(event: Event): StoredForm {
  const {stateDelta} = event.actions;
  const kept = withoutTemporary(stateDelta);
  if (kept === stateDelta) {
    const stored = frozenCopy(event, 'event');
    return {stored, delta: stored.actions.stateDelta};
  }
  const delta = frozenCopy(stateDelta, 'event.actions.stateDelta');
  return {stored: frozenCopy({...event, actions: {...event.actions, stateDelta: kept}}, 'event'), delta};
}

/**
 * Brings a session record that a caller holds up to date with an Event, as `appendEvent` does, without any store: the record gets a frozen
 * copy of it without `temp:` keys, its state the whole delta. Returns that copy. Changes nothing for a partial Event, which is returned as it
 * is, and for an id that stands in the record, whose Event is returned.
 *
 * @throws {@link InvalidOptionError} naming the path of what JSON cannot hold; nothing is changed then
 */
export function recordEvent(session: Session, event: Event): Event {
  if (event.partial) return event;
  const present = session.events.findLast(({id}) => id === event.id);
  if (present) return present;
  const form = toStored(event);
  recordStored(session, form);
  return form.stored;
}

/** Adds to a session record an Event that it does not hold. */
export function recordStored(session: Session, {stored, delta}: StoredForm): void {
  session.state = applyDelta(session.state, delta);
  session.events.push(stored);
  session.lastUpdateTime = stored.timestamp;
}
