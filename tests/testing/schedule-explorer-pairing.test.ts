import {expect, test} from 'vitest';
import {createEvent, type Event, type Part} from 'sluice';
import {pairingFlaw} from '../../lib/testing/schedule-explorer/pairing.ts';

const CONFIRM = 'adk_request_confirmation';
const CREDENTIAL = 'adk_request_credential';

interface Marks {
  readonly author?: string;
  readonly run?: string;
  readonly waits?: readonly string[];
  readonly asks?: readonly string[];
  readonly branch?: string;
}

function event(parts: Part[], {author = 'clerk', run = 'r1', waits, asks = [], branch}: Marks): Event {
  return createEvent({
    author,
    invocationId: run,
    content: {role: author === 'user' ? 'user' : 'model', parts},
    actions: {requestedToolConfirmations: Object.fromEntries(asks.map((id) => [id, {}]))},
    ...(waits && {longRunningToolIds: [...waits]}),
    ...(branch !== undefined && {branch}),
  });
}

/** A reply of the model's: the name of each call is its id. */
const calls = (ids: readonly string[], marks: Marks = {}): Event =>
  event(
    ids.map((id) => ({functionCall: {id, name: id}})),
    marks,
  );
const answers = (ids: readonly string[], marks: Marks = {}): Event =>
  event(
    ids.map((id) => ({functionResponse: {id, name: id, response: {}}})),
    marks,
  );
/** The Event that asks the user, about each of these calls; a question is called `?` and the call. */
const asks = (ids: readonly string[], name = CONFIRM, marks: Marks = {}): Event => {
  const question = (id: string): Part => ({
    functionCall: {id: `?${id}`, name, args: name === CONFIRM ? {originalFunctionCall: {id}} : {functionCallId: id}},
  });
  return event(ids.map(question), {waits: ids.map((id) => `?${id}`), ...marks});
};
/** What the user says to these questions, in a run of its own. */
const says = (ids: readonly string[], confirmed = true, name = CONFIRM): Event =>
  event(
    ids.map((id) => ({functionResponse: {id: `?${id}`, name, response: {confirmed}}})),
    {author: 'user', run: 'r2'},
  );
const user = (...ids: readonly string[]): Event => answers(ids, {author: 'user', run: 'r2'});

const asked = [calls(['a', 'b']), asks(['a']), answers(['a', 'b'], {waits: ['a'], asks: ['a']})];
const askedTwice = [
  calls(['a']),
  event(
    [
      {functionCall: {id: '?a', name: CONFIRM, args: {originalFunctionCall: {id: 'a'}}}},
      {functionCall: {id: '??', name: CREDENTIAL, args: {functionCallId: 'a'}}},
    ],
    {waits: ['?a', '??']},
  ),
  answers(['a'], {waits: ['a'], asks: ['a']}),
];
const late = (ids: readonly string[], marks: Marks = {}): Event => answers(ids, {run: 'r2', ...marks});

test.each<[string, readonly Event[]]>([
  ['calls that are answered', [calls(['a', 'b']), answers(['a', 'b'])]],
  ['a call that waits for an answer to its question', asked],
  ['a call that ran after the answer', [...asked, says(['a']), late(['a'])]],
  [
    'a call that asks again after the answer',
    [
      ...asked,
      says(['a']),
      event([{functionCall: {id: '??', name: CREDENTIAL, args: {functionCallId: 'a'}}}], {run: 'r2', waits: ['??']}),
      late(['a'], {waits: ['a'], asks: ['a']}),
    ],
  ],
  ['a call with one of its two questions answered', [...askedTwice, says(['a'])]],
  ['a call that was refused, with another question open', [...askedTwice, says(['a'], false), late(['a'])]],
  ['a long-running call', [calls(['a', 'b'], {waits: ['a']}), answers(['a', 'b'], {waits: ['a']})]],
  ['a long-running call that the user answers', [calls(['a'], {waits: ['a']}), answers(['a'], {waits: ['a']}), user('a')]],
  [
    'branches that run beside each other',
    [calls(['a'], {branch: 'x'}), calls(['b'], {branch: 'y'}), answers(['b'], {branch: 'y'}), answers(['a'], {branch: 'x'})],
  ],
  [
    'a model that calls a request by its name',
    [
      event([{functionCall: {id: 'a', name: CONFIRM, args: {}}}], {}),
      event([{functionResponse: {id: 'a', name: CONFIRM, response: {}}}], {}),
    ],
  ],
])('%s is in order', (_name, events) => {
  expect(pairingFlaw(events)).toBeUndefined();
});

test.each<[string, readonly Event[], string]>([
  ['a call without a response', [calls(['a'])], 'the calls of Event 0 have no responses'],
  ['responses in another order', [calls(['a', 'b']), answers(['b', 'a'])], 'the next Event answers b(b), a(a)'],
  ['a second response', [calls(['a']), answers(['a']), answers(['a'])], 'Event 2 answers a(a), and the Event before it has no such calls'],
  ['a response in another branch', [calls(['a'], {branch: 'x'}), answers(['a'], {branch: 'y'})], 'in branch y: Event 1 answers a(a)'],
  ['a response of another agent', [calls(['a']), answers(['a'], {author: 'other'})], 'a(a) was made by clerk, and other has its response'],
  ['an id that is used twice', [calls(['a']), answers(['a']), calls(['a'])], 'two calls have the id a'],
  ['a call that waits for nothing', [calls(['a']), answers(['a'], {waits: ['a']})], 'a(a) waits, and has asked for nothing'],
  [
    'a question that the user has not got',
    [calls(['a']), answers(['a'], {waits: ['a'], asks: ['a']})],
    'a request that the user has not got',
  ],
  [
    'a question of a call that has its result',
    [calls(['a']), asks(['a']), answers(['a'])],
    'the user is asked about a(a), which does not wait',
  ],
  ['a question about a call of the past', [calls(['a']), answers(['a']), asks(['a'])], 'Event 2 asks about a call that is not being run'],
  [
    'a call that is lost after the answer',
    [...asked, says(['a'])],
    'the user has answered what a(a) had asked, and it has no response since',
  ],
  ['a refused call that is lost', [...askedTwice, says(['a'], false)], 'the user has answered what a(a) had asked'],
  ['a call that runs without an answer', [...asked, late(['a'])], 'Event 3 answers a(a), and the Event before it has no such calls'],
  ['a call that runs in a run after the one with the answer', [...asked, says(['a']), late(['a'], {run: 'r3'})], 'Event 4 answers a(a)'],
  ['a sibling that runs again with the answer', [...asked, says(['a']), late(['a', 'b'])], 'Event 4 answers a(a), b(b)'],
  ['a call that runs twice for one answer', [...asked, says(['a']), late(['a']), late(['a'])], 'Event 5 answers a(a)'],
  [
    'a question that is answered twice',
    [...asked, says(['a']), late(['a']), says(['a'])],
    `Event 5 answers ${CONFIRM}(?a), which does not wait`,
  ],
  ['a response of the user’s in place of the answer', [...asked, user('a')], 'Event 3 answers a(a), which does not wait for the user'],
])('%s is a flaw', (_name, events, flaw) => {
  expect(pairingFlaw(events)).toContain(flaw);
});
