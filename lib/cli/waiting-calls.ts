import type {FunctionCall} from '../content.ts';
import {getFunctionCalls, getFunctionResponses, type Event} from '../events/event.ts';

/** The calls of a session that wait for an answer, in the order in which they were made. */
export function waitingCalls(events: readonly Event[]): FunctionCall[] {
  const made = new Map<string, FunctionCall>();
  const waiting = new Map<string, FunctionCall>();
  for (const event of events) {
    for (const call of getFunctionCalls(event)) if (call.id !== undefined) made.set(call.id, call);
    for (const {id = ''} of getFunctionResponses(event)) {
      const call = made.get(id);
      if (call && event.longRunningToolIds?.includes(id)) waiting.set(id, call);
      else waiting.delete(id);
    }
  }
  return [...waiting.values()];
}
