import type {Content} from '../../content.ts';
import {getFunctionCalls, getFunctionResponses, type Event} from '../../events/event.ts';

/**
 * What is wrong with the calls and responses of a session; `undefined` if every call has exactly one response, right after, in call order.
 * Branches run beside each other: what is right after is so in a branch.
 */
export function pairingFlaw(events: readonly Event[]): string | undefined {
  const branches = Map.groupBy(events, ({branch}) => branch);
  const ids = new Set<string>();
  for (const [branch, own] of branches) {
    const flaw = flawIn(own, ids);
    if (flaw) return branch === undefined ? flaw : `in branch ${branch}: ${flaw}`;
  }
  return undefined;
}

function flawIn(events: readonly Event[], ids: Set<string>): string | undefined {
  for (const [at, event] of events.entries()) {
    const calls = getFunctionCalls(event);
    const responses = getFunctionResponses(event);
    for (const {id} of calls) {
      if (id === undefined || id === '') return `Event ${at} has a call without an id`;
      if (ids.has(id)) return `two calls have the id ${id}`;
      ids.add(id);
    }
    if (calls.length > 0) {
      const next = events[at + 1];
      if (!next) return `the calls of Event ${at} have no responses`;
      const [wanted, given] = [calls, getFunctionResponses(next)].map((list) => list.map(({id, name}) => `${name}(${id})`).join(', '));
      if (wanted !== given) return `Event ${at} calls ${wanted}, and the next Event answers ${given || 'nothing'}`;
    }
    // A user answers later what waited.
    if (responses.length > 0 && event.author !== 'user' && getFunctionCalls(events[at - 1] ?? event).length === 0) {
      return `Event ${at} has responses, and the Event before it no calls`;
    }
  }
  return undefined;
}

/** The same of a request to a model. */
export function requestFlaw(contents: readonly Content[]): string | undefined {
  for (const [at, content] of contents.entries()) {
    if (!content.parts?.length) return `content ${at} is empty`;
    const calls = content.parts.flatMap(({functionCall}) => functionCall ?? []);
    const answered = content.parts.flatMap(({functionResponse}) => functionResponse ?? []);
    const before = contents[at - 1]?.parts?.flatMap(({functionCall}) => functionCall ?? []) ?? [];
    const [wanted, given] = [before, answered].map((list) => list.map(({id = '', name}) => `${name}(${id})`).join(', '));
    if (wanted !== given) return `content ${at} answers ${given || 'nothing'} after calls of ${wanted || 'nothing'}`;
    if (calls.length > 0 && at === contents.length - 1) return `the request ends with calls`;
  }
  return undefined;
}
