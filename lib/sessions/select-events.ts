import type {Event} from '../events/event.ts';
import type {GetSessionConfig} from './base-session-service.ts';

/** The Events of a session that `getSession` is asked for. */
export function selectEvents(events: readonly Event[], {numRecentEvents, afterTimestamp}: GetSessionConfig): Event[] {
  const recent = events.slice(numRecentEvents === undefined ? 0 : Math.max(0, events.length - numRecentEvents));
  return afterTimestamp === undefined ? recent : recent.filter(({timestamp}) => timestamp >= afterTimestamp);
}
