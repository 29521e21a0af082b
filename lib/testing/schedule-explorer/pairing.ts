import type {Content} from '../../content.ts';
import type {Event} from '../../events/event.ts';
import {CallTracker} from './call-tracker.ts';

/** What is wrong with the calls and responses of a session; `undefined` if each call has its one final response, or waits for the user. */
export function pairingFlaw(events: readonly Event[]): string | undefined {
  const tracker = new CallTracker();
  for (const event of events) {
    const flaw = tracker.add(event);
    if (flaw) return event.branch === undefined ? flaw : `in branch ${event.branch}: ${flaw}`;
  }
  return tracker.end();
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
