import * as fc from 'fast-check';
import {describe, expect, it} from 'vitest';
import {History, type HistoryOptions} from '../../../lib/agents/llm/history.ts';
import type {Content, Part} from '../../../lib/content.ts';
import {getFunctionCalls, getFunctionResponses, type Event} from '../../../lib/events/event.ts';
import {AGENT, call, event, result, results} from './history-events.ts';

const BRANCH = 'root.left';
const RUNS = 500;

/** One thing that happens in a random session. */
type Happening =
  | {readonly kind: 'user' | 'model' | 'scout' | 'partial' | 'empty' | 'elsewhere'}
  | {
      readonly kind: 'calls';
      readonly picks: readonly number[];
      readonly longRunning: boolean;
      readonly cut: boolean;
      readonly author: string;
    }
  | {
      readonly kind: 'responses';
      readonly picks: readonly number[];
      readonly pending: boolean;
      readonly text: boolean;
      readonly author: string;
    };

const picks = fc.array(fc.nat({max: 7}), {minLength: 1, maxLength: 4});
const author = fc.constantFrom(AGENT, AGENT, AGENT, 'user', 'scout', 'elsewhere');
const happening: fc.Arbitrary<Happening> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constantFrom(
        'user' as const,
        'model' as const,
        'scout' as const,
        'partial' as const,
        'empty' as const,
        'elsewhere' as const,
      ),
    }),
  },
  {weight: 3, arbitrary: fc.record({kind: fc.constant('calls' as const), picks, longRunning: fc.boolean(), cut: fc.boolean(), author})},
  {weight: 4, arbitrary: fc.record({kind: fc.constant('responses' as const), picks, pending: fc.boolean(), text: fc.boolean(), author})},
);

/** Ids that repeat within and across turns, and calls without an id (where a pick is 0). */
const anySession = fc
  .array(happening, {maxLength: 24})
  .map((list) => list.map((what, at) => toEvent(what, at, (pick) => (pick ? `c${pick}` : ''))));

/** Ids that never repeat: the session as the core writes it. Responses name calls of the last few turns. */
const tidySession = fc.array(happening, {maxLength: 24}).map((list) => {
  let last = 0;
  return list.map((what, at) => {
    const ids = what.kind === 'calls' ? what.picks.map(() => `c${++last}`) : [];
    return toEvent(what, at, (pick, index) => (what.kind === 'calls' ? (ids[index] ?? '') : `c${Math.max(1, last - pick)}`));
  });
});

describe('for any session', () => {
  it('a model accepts every request', () => {
    check(anySession, (events) => everyRequest(events, {}, expectAcceptable));
    check(anySession, (events) => everyRequest(events, {includeContents: 'none', branch: BRANCH}, expectAcceptable));
  });

  it('a request is the same, byte for byte, as one built anew from the session', () => {
    check(anySession, (events) => {
      everyRequest(events, {}, (contents, soFar) => {
        const anew = rebuild(soFar);
        expect(contents).toEqual(anew);
        expect(JSON.stringify(contents)).toBe(JSON.stringify(anew));
      });
    });
  });

  it('asking at every event or once makes no difference, nor does a session that was saved and loaded', () => {
    check(anySession, (events) => {
      const loaded = JSON.parse(JSON.stringify(events)) as Event[];
      expect(JSON.stringify(rebuild(loaded))).toBe(JSON.stringify(rebuild(events)));
    });
  });

  it('the current turn is the end of the whole history', () => {
    check(anySession, (events) => {
      const all = rebuild(events);
      const current = rebuild(events, {includeContents: 'none'});
      expect(all.slice(all.length - current.length)).toEqual(current);
    });
  });

  it('what is in other branches changes nothing', () => {
    check(anySession, (events) => {
      const visible = events.filter(({branch}) => branch === undefined);
      expect(rebuild(events, {branch: BRANCH})).toEqual(rebuild(visible, {branch: BRANCH}));
    });
  });
});

describe('for any session whose call ids are unique', () => {
  it('every word and every call of the agent stands in the request once, every response is the latest', () => {
    check(tidySession, (events) => {
      const parts = rebuild(events, {branch: BRANCH}).flatMap((content) => content.parts ?? []);
      const own = events.filter((item) => !item.partial && !item.branch && (item.author === AGENT || item.author === 'user'));
      expect(texts(parts).toSorted(byText)).toEqual(texts(own.flatMap((item) => item.content?.parts ?? [])).toSorted(byText));
      const ownCalls = own.flatMap(getFunctionCalls);
      expect(parts.flatMap((part) => part.functionCall?.id ?? []).toSorted(byText)).toEqual(
        ownCalls.flatMap(({id}) => id ?? []).toSorted(byText),
      );
      const told = new Map(
        parts.flatMap(({functionResponse}) => (functionResponse ? [[functionResponse.id, functionResponse.response]] : [])),
      );
      const wrong = ownCalls.filter(({id}) => {
        const latest = latestResponse(own, id);
        return JSON.stringify(told.get(id)) !== JSON.stringify(latest) && (latest || !isRepair(told.get(id)));
      });
      expect(wrong).toEqual([]);
    });
  });

  it('a request after the last answer of a turn ends with its calls and their responses', () => {
    check(tidySession, (events) => {
      everyRequest(events, {}, (contents, soFar) => {
        const answer = soFar.at(-1);
        const answered = answer?.author === 'user' ? turnAnswered(soFar, answer) : undefined;
        if (!answered) return;
        const end = contents.slice(contents.findIndex((content) => content === answered.content));
        expect(end[0]).toEqual(answered.content);
        expect(end[1]?.parts).toHaveLength(getFunctionCalls(answered).length);
        // What came beside responses of the agent's own, such as media, stays with them.
        expect(end.slice(2).flatMap(({parts}) => texts(parts ?? []))).toSatisfy((said: string[]) =>
          said.every((text) => text.startsWith('beside')),
        );
      });
    });
  });
});

function check(session: fc.Arbitrary<Event[]>, property: (events: Event[]) => void): void {
  fc.assert(fc.property(session, property), {numRuns: RUNS});
}

function everyRequest(
  events: readonly Event[],
  options: Partial<HistoryOptions>,
  look: (contents: Content[], soFar: Event[]) => void,
): void {
  const history = new History({agentName: AGENT, includeContents: 'default', ...options});
  const soFar: Event[] = [];
  for (const next of events) {
    soFar.push(next);
    look(history.contents(soFar), soFar);
  }
}

function rebuild(events: readonly Event[], options: Partial<HistoryOptions> = {}): Content[] {
  return new History({agentName: AGENT, includeContents: 'default', ...options}).contents(events);
}

function expectAcceptable(contents: readonly Content[]): void {
  expect(contents.flatMap((_, at) => refusals(contents, at))).toEqual([]);
  expect(contents.at(-1)?.role).toBe('user');
}

/** Gemini's own rules for `contents`, written down without the code under test: why it would refuse the one at `at`. */
function refusals(contents: readonly Content[], at: number): string[] {
  const {role, parts = []} = contents[at] ?? {};
  const before = contents[at - 1];
  const next = contents[at + 1];
  const calls = parts.flatMap(({functionCall}) => functionCall ?? []);
  const answered = (next?.parts ?? []).map(({functionResponse}) => functionResponse);
  const rules: Record<string, boolean> = {
    'a role': role === 'user' || role === 'model',
    'a part that says something': parts.some((part) => JSON.stringify(part) !== '{"text":""}'),
    'responses right behind calls':
      !parts.some(({functionResponse}) => functionResponse) || Boolean(before?.parts?.some(({functionCall}) => functionCall)),
    'calls by the model': calls.length === 0 || role === 'model',
    'calls right behind a user content': calls.length === 0 || before?.role === 'user',
    'responses by the user': calls.length === 0 || next?.role === 'user',
    'one response for every call, in order':
      calls.length === 0 || JSON.stringify(answered.map(nameAndId)) === JSON.stringify(calls.map(nameAndId)),
  };
  return Object.keys(rules).filter((rule) => !rules[rule]);
}

function nameAndId(of: {id?: string; name?: string} | undefined): unknown[] {
  return [of?.name, of?.id];
}

function isRepair(response: Record<string, unknown> | undefined): boolean {
  return Boolean(response && ('error' in response || response['status'] === 'pending'));
}

function byText(a: string, b: string): number {
  return a < b ? -1 : 1;
}

function toEvent(what: Happening, at: number, idOf: (pick: number, index: number) => string): Event {
  switch (what.kind) {
    case 'user':
    case 'scout':
      return event(what.kind, [{text: `${what.kind} ${at}`}]);
    case 'model':
      return event(AGENT, [{text: `model ${at}`, ...(at % 2 && {thoughtSignature: 'S'})}]);
    case 'partial':
      return event(AGENT, [{text: 'partial'}, call('c1')], {partial: true});
    case 'empty':
      return event(AGENT, at % 2 ? [] : [{text: ''}]);
    case 'elsewhere':
      return event(AGENT, [{text: 'elsewhere'}], {branch: 'root.right'});
    case 'calls':
      return callsEvent(what, at, idOf);
    default:
      return responsesEvent(what, at, idOf);
  }
}

function callsEvent(what: Happening & {kind: 'calls'}, at: number, idOf: (pick: number, index: number) => string): Event {
  const parts: Part[] = what.picks.map((pick, index) => {
    const id = idOf(pick, index);
    return id ? call(id) : {functionCall: {name: 'bare'}};
  });
  const ids = parts.flatMap(({functionCall}) => functionCall?.id ?? []);
  return event(what.author === 'scout' ? 'scout' : AGENT, at % 3 ? parts : [{text: `asking ${at}`}, ...parts], {
    ...(what.longRunning && {longRunningToolIds: ids}),
    ...(what.cut && {errorCode: 'MAX_TOKENS'}),
    ...(what.author === 'elsewhere' && {branch: 'root.right'}),
  });
}

function responsesEvent(what: Happening & {kind: 'responses'}, at: number, idOf: (pick: number, index: number) => string): Event {
  const parts: Part[] = what.picks.map((pick, index) => {
    const id = idOf(pick, index);
    const response = what.pending ? {status: 'pending'} : {at, index};
    return id ? result(id, response) : {functionResponse: {name: 'bare', response}};
  });
  if (what.text) parts.push({text: `beside ${at}`});
  const ids = parts.flatMap(({functionResponse}) => functionResponse?.id ?? []);
  if (what.author === 'user') return event('user', parts);
  if (what.author === 'scout') return event('scout', parts);
  const stored = results(parts, what.pending ? ids : undefined);
  return what.author === 'elsewhere' ? {...stored, branch: 'root.right'} : stored;
}

function texts(parts: readonly Part[]): string[] {
  return parts.flatMap(({text}) => text ?? []).filter((text) => text !== '' && text !== 'Continue.' && !text.startsWith('[scout]'));
}

function latestResponse(events: readonly Event[], id: string | undefined): Record<string, unknown> | undefined {
  const turn = events.findIndex((item) => getFunctionCalls(item).some((made) => made.id === id));
  const responses = events.slice(turn + 1).flatMap(getFunctionResponses);
  return responses.findLast((response) => response.id === id)?.response;
}

/** The turn that an answer of the user's completes: where it answers calls of one turn only, and nothing of it waits any more. */
function turnAnswered(events: readonly Event[], answer: Event): Event | undefined {
  const ids = new Set(getFunctionResponses(answer).map(({id}) => id));
  const turns = events.filter((item) => !item.partial && getFunctionCalls(item).some(({id}) => ids.has(id)));
  const [turn] = turns;
  if (turns.length !== 1 || turn?.author !== AGENT || answer.content?.parts?.some((part) => part.text)) return undefined;
  return getFunctionCalls(turn).some(({id}) => isWaiting(events, turn, id)) ? undefined : turn;
}

function isWaiting(events: readonly Event[], turn: Event, id: string | undefined): boolean {
  const after = events.slice(events.indexOf(turn) + 1).filter(({author}) => author === AGENT || author === 'user');
  const last = after.findLast((item) => getFunctionResponses(item).some((response) => response.id === id));
  if (last) return Boolean(last.longRunningToolIds?.includes(id ?? ''));
  return !turn.errorCode && Boolean(turn.longRunningToolIds?.includes(id ?? ''));
}
