import assert from 'node:assert/strict';
import {createEvent, type CreateEventParams, type Event} from '../../events/event.ts';
import type {BaseSessionService, GetSessionConfig} from '../../sessions/base-session-service.ts';
import type {Session, SessionKey} from '../../sessions/session.ts';

/** One thing that a session service must do. */
export interface SessionCase {
  readonly name: string;
  readonly check: (world: SessionWorld) => Promise<void>;
}

/** A service, an app name that no other case uses, and what most cases do with them. */
export class SessionWorld {
  readonly service: BaseSessionService;
  // A store may keep what earlier cases, or earlier runs of the suite, left in it.
  readonly appName: string = `app-${crypto.randomUUID()}`;
  readonly userId = 'ada';

  constructor(service: BaseSessionService) {
    this.service = service;
  }

  /** Makes a session of the case's user, or of another. */
  open(state: Record<string, unknown> = {}, userId: string = this.userId): Promise<Session> {
    return this.service.createSession({appName: this.appName, userId, state});
  }

  /** Appends an Event with these parts to a session. */
  append(session: Session, params: CreateEventParams = {}): Promise<Event> {
    return this.service.appendEvent({session, event: createEvent({invocationId: 'run-1', ...params})});
  }

  /** The session as the service has it now. */
  async reload(session: Session, config?: GetSessionConfig): Promise<Session> {
    const found = await this.service.getSession({...keyOf(session), ...(config && {config})});
    assert.ok(found, 'getSession should find the session');
    return found;
  }
}

export function keyOf({appName, userId, id}: Session): SessionKey {
  return {appName, userId, sessionId: id};
}

export function idsOf(session: Session): string[] {
  return session.events.map(({id}) => id);
}

/** Changes everything within a value that lets itself be changed. */
export function vandalise(value: unknown): void {
  if (typeof value !== 'object' || value === null) return;
  for (const key of Object.keys(value)) {
    vandalise(Reflect.get(value, key));
    Reflect.set(value, key, 'vandalised');
  }
  Reflect.set(value, Array.isArray(value) ? value.length : 'vandal', 'vandalised');
}
