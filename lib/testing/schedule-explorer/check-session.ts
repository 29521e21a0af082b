import {isDeepStrictEqual} from 'node:util';
import type {Content} from '../../content.ts';
import {getFunctionResponses, type Event} from '../../events/event.ts';
import {tell} from './tell.ts';
import {checkAnswers} from './check-answers.ts';
import {checkBodies} from './check-bodies.ts';
import {checkTexts} from './check-texts.ts';
import type {Observed} from './observed.ts';
import {pairingFlaw} from './pairing.ts';
import {demand} from './schedule-error.ts';
import {storeFailed} from './store-failed.ts';

/** What the session holds is valid, whole, and true. */
export function checkSession(observed: Observed): void {
  if (storeFailed(observed)) return;
  const {events, run, outcome} = observed;
  const own = events.filter(({invocationId}) => invocationId === run.invocationId);
  checkForm(events);
  checkMessage(observed, own);
  checkOrder(observed, own);
  const flaw = pairingFlaw(events);
  demand(!flaw, 'session', () => `${flaw}`);
  const last = own.at(-1)?.id;
  demand(outcome.lastEventId === last, 'settled', () => `lastEventId is ${outcome.lastEventId}; the last Event stored is ${last}`);
  checkWaiting(observed, own);
  checkAnswers(observed, own);
  checkBodies(observed);
  checkTexts(observed, own);
}

function checkForm(events: readonly Event[]): void {
  const ids = new Set<string>();
  for (const [at, {id, partial, content}] of events.entries()) {
    demand(!ids.has(id), 'session', () => `two Events have the id ${id}`);
    ids.add(id);
    demand(!partial, 'session', () => `Event ${at} is partial`);
    demand(!content || hasWords(content), 'session', () => `the content of Event ${at} is empty: ${tell(content)}`);
  }
}

function hasWords({parts}: Content): boolean {
  return parts?.some((part) => Object.values(part).some((value) => value !== undefined && value !== '')) ?? false;
}

/** The user's message stands first, unless the run ended before it was stored. */
function checkMessage({watch, scenario}: Observed, own: readonly Event[]): void {
  const [first] = own;
  const asked = watch.calls.some(({kind, caller}) => kind === 'model' && caller === 'run');
  demand(first !== undefined || !asked, 'session', () => 'the model was asked, and the message of the user is not stored');
  if (!first) return;
  const parts = scenario.request.newMessage.parts ?? [];
  const ids = parts.flatMap(({functionResponse}) => functionResponse?.id ?? []);
  const answered = getFunctionResponses(first).map(({id}) => id);
  // What an answer lacks is filled in.
  const isSaid = ids.length > 0 ? isDeepStrictEqual(answered, ids) : isDeepStrictEqual(first.content?.parts, parts);
  const isMessage = first.author === 'user' && isSaid;
  demand(isMessage, 'session', () => `the first Event is not the message of the user: ${tell(first.content)}`);
}

/** A run that has ended by itself waits exactly if its last Event says for what, or if what it answers has siblings that wait. */
function checkWaiting({outcome}: Observed, own: readonly Event[]): void {
  const last = own.at(-1);
  if ((outcome.kind !== 'done' && outcome.kind !== 'waiting') || last?.author === 'user') return;
  const ids = last?.longRunningToolIds ?? [];
  demand(
    (outcome.kind === 'waiting') === ids.length > 0,
    'settled',
    () => `the run ended with ${outcome.kind}; its last Event waits for ${tell(ids)}`,
  );
}

/** What the reader got stands in the session, as it got it and in that order. */
function checkOrder({reader, watch}: Observed, own: readonly Event[]): void {
  let last = -1;
  for (const {event, at: seen} of reader.events) {
    if (event.partial) continue;
    const write = watch.calls.find((call) => call.kind === 'store' && call.event?.id === event.id);
    demand(
      (write?.ended?.order ?? Infinity) < seen.order,
      'order',
      () => `the reader got an Event before it was stored: ${tell(event.content)}`,
    );
    const at = own.findIndex(({id}) => id === event.id);
    demand(at > last, 'order', () => `the reader got an Event that is not stored, or not in that place: ${tell(event.content)}`);
    last = at;
    const [given, stored] = [event, own[at]].map((one) => JSON.stringify(one?.content));
    demand(given === stored, 'order', () => `the reader got ${given}, and stored is ${stored}`);
  }
}
