import type {FunctionCall} from '../../content.ts';
import type {Event} from '../../events/event.ts';
import {servedParts} from '../../events/served-parts.ts';
import {copyJson} from '../../schema/json-copy.ts';
import type {Toolbox} from './toolbox.ts';

/** The calls of a reply that are ours to run, copied before anybody else sees it. */
export function ownCalls(reply: Event): FunctionCall[] {
  const parts = reply.content?.parts ?? [];
  const served = servedParts(parts);
  return parts.flatMap((part) => (part.functionCall && !served.has(part) ? [copyJson(part.functionCall)] : []));
}

/** Says in the reply which of its calls are answered in a later run. */
export function markLongRunning(reply: Event, calls: readonly FunctionCall[], toolbox: Toolbox): void {
  const ids = calls.flatMap(({id, name}) => (id !== undefined && toolbox.factsOf(name)?.isLongRunning ? id : []));
  if (ids.length > 0) reply.longRunningToolIds = ids;
}
