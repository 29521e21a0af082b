import type {Event} from '../events/event.ts';

/** What names a session. */
export interface SessionKey {
  readonly appName: string;
  readonly userId: string;
  readonly sessionId: string;
}

/** A conversation: its Events in order, and its state. Plain JSON. */
export interface Session {
  readonly id: string;
  readonly appName: string;
  readonly userId: string;
  /** All scopes in one record: session keys bare, the others with `app:` or `user:`. Replaced, never changed in place. */
  state: Record<string, unknown>;
  events: Event[];
  /** Milliseconds since 1970. */
  lastUpdateTime: number;
}
