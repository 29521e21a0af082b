import type {Event} from '../events/event.ts';

/** The Events of a session that count: without those that a rewind took back, and without the rewinds. The list itself where there are none. */
export function withoutRewound(events: Event[]): Event[] {
  if (!events.some(({actions}) => actions.rewindBeforeInvocationId)) return events;
  const kept: Event[] = [];
  for (const event of events) {
    const {rewindBeforeInvocationId: taken} = event.actions;
    if (taken === undefined) kept.push(event);
    else kept.splice(startOf(kept, taken));
  }
  return kept;
}

/** Where the Events of a run begin; the end of the list where it has none. */
export function startOf(events: readonly Event[], invocationId: string): number {
  const start = events.findIndex((event) => event.invocationId === invocationId);
  return start < 0 ? events.length : start;
}
