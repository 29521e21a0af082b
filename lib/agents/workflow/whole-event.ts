import type {Event} from '../../events/event.ts';
import {isRecord} from '../../schema/is-record.ts';

/** Whether an agent has given a whole Event: not a piece of one, and not what the runner will refuse. */
export function isWholeEvent(given: Event): boolean {
  if (!isRecord(given) || given.partial) return false;
  const parts: unknown = given.content?.parts;
  return isRecord(given.actions?.stateDelta) && (parts === undefined || Array.isArray(parts));
}
