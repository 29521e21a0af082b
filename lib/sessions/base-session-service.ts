import type {Event} from '../events/event.ts';
import type {Session, SessionKey} from './session.ts';
import {applyDelta, State} from './state.ts';

export interface CreateSessionRequest {
  readonly appName: string;
  readonly userId: string;
  /** Initial state; keys with `app:` and `user:` go to their scopes, `temp:` keys are dropped. */
  readonly state?: Record<string, unknown>;
  /** A new UUID where it is missing. */
  readonly sessionId?: string;
}

export interface GetSessionRequest extends SessionKey {
  readonly config?: GetSessionConfig;
}

/** Which Events to return; both may be given. The state is always whole. */
export interface GetSessionConfig {
  /** Only the last so many; 0 gives none. */
  readonly numRecentEvents?: number;
  /** Only those at this time or later, in milliseconds since 1970. */
  readonly afterTimestamp?: number;
}

export interface ListSessionsRequest {
  readonly appName: string;
  /** Sessions of all users where it is missing. */
  readonly userId?: string;
}

export interface ListSessionsResponse {
  /** Without their Events. */
  readonly sessions: Session[];
}

export interface AppendEventRequest {
  /** Updated in place: the Event is added, the state replaced. */
  readonly session: Session;
  readonly event: Event;
  /** The epoch of the run that writes; without one the write is from outside a run and always accepted. */
  readonly epoch?: number;
}

/**
 * Keeps sessions. ADK's five methods are all that a store needs; `claimSession` is for stores that several processes share.
 *
 * What a caller changes in a record that it gave or got changes nothing stored.
 */
export abstract class BaseSessionService {
  /** @throws {@link SessionExistsError} where the id is taken. */
  abstract createSession(request: CreateSessionRequest): Promise<Session>;

  /** The session, or `undefined` where there is none. */
  abstract getSession(request: GetSessionRequest): Promise<Session | undefined>;

  abstract listSessions(request: ListSessionsRequest): Promise<ListSessionsResponse>;

  /** Deletes a session; it is no error if there is none. Scopes shared with others stay. */
  abstract deleteSession(request: SessionKey): Promise<void>;

  /**
   * Takes the session over for one run, in all processes: writes with an older epoch are refused from now on.
   *
   * Optional. A store without it relies on the queue within one process.
   */
  claimSession?(request: SessionKey): Promise<number>;

  /**
   * Appends an Event, and returns what was stored. Idempotent by `event.id`; a partial Event is not stored; `temp:` keys are not stored.
   *
   * A store calls `super.appendEvent(...)` for the in-memory record and writes beside it.
   *
   * @throws {@link SessionNotFoundError} where the session is gone
   * @throws {@link SessionConflictError} where `epoch` is older than the last claim
   */
  async appendEvent({session, event}: AppendEventRequest): Promise<Event> {
    recordEvent(session, event);
    return event;
  }
}

/**
 * Applies an Event to a session record that a caller holds: its state delta with `temp:` keys, then the Event itself. Does nothing for
 * a partial Event, and nothing when the session ends with this Event already.
 */
export function recordEvent(session: Session, event: Event): void {
  if (event.partial || session.events.at(-1)?.id === event.id) return;
  session.state = applyDelta(session.state, event.actions.stateDelta);
  session.events.push(event);
  session.lastUpdateTime = event.timestamp;
}

/** A state delta without what lives only as long as the run. */
export function withoutTemporary(delta: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(delta).filter(([key]) => !key.startsWith(State.TEMP_PREFIX)));
}
