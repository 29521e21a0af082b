import {readLedger, waits} from '../answers/ledger.ts';
import type {Content, FunctionCall} from '../content.ts';
import {REQUEST_CONFIRMATION, REQUEST_CREDENTIAL, REQUEST_INPUT, type ToolConfirmation} from '../context/requests.ts';
import type {Event} from '../events/event.ts';
import {withoutRewound} from '../sessions/rewound.ts';
import {parsedJson} from './message.ts';
import {shortJson} from './printable.ts';

/** A call that waits for a person, as it is put at a terminal. */
export interface Question {
  /** What is asked, and how it is answered. */
  readonly note: string;
  readonly prompt: string;
  /** What was typed, as the answer. */
  readonly answer: (line: string) => Content;
}

const OPEN = 'an empty line leaves it open';
const IN_WORDS = `the next message is the answer, as JSON or text; ${OPEN}`;

/** The first question that a session waits with. */
export function nextQuestion(events: readonly Event[]): Question | undefined {
  // A call that has asked for something is answered by way of what it has asked for.
  const next = [...readLedger(withoutRewound([...events])).values()].find((call) => waits(call) && !call.answer?.asks);
  return next && questionOf(next.call);
}

function questionOf(call: FunctionCall): Question {
  const {name = '', args = {}} = call;
  const answer = (line: string): Content => answerTo(call, responseOf(line));
  switch (name) {
    case REQUEST_CONFIRMATION: {
      const {name: asker = '', args: shown = {}} = (args['originalFunctionCall'] ?? {}) as FunctionCall;
      const {hint = ''} = (args['toolConfirmation'] ?? {}) as Partial<ToolConfirmation>;
      const note = `waiting ${asker} ${shortJson(shown)}: ${hint ? `${hint} ` : ''}The next message is yes, no or JSON; ${OPEN}`;
      return {note, prompt: `${asker}? `, answer: (line) => answerTo(call, wordOf(line) ?? responseOf(line))};
    }
    case REQUEST_CREDENTIAL:
      return {note: `waiting for a credential ${shortJson(args['authConfig'])}: ${IN_WORDS}`, prompt: 'credential> ', answer};
    case REQUEST_INPUT:
      return {note: `waiting: ${String(args['message'])}: ${IN_WORDS}`, prompt: 'answer> ', answer};
    default:
      return {note: `waiting ${name} ${shortJson(args)}: ${IN_WORDS}`, prompt: `${name}> `, answer};
  }
}

/** `yes` and `no`, in short too. */
function wordOf(line: string): Record<string, unknown> | undefined {
  const [, yes, no] = /^\s*(?:(y|yes)|(n|no))\s*$/i.exec(line) ?? [];
  return yes || no ? {confirmed: yes !== undefined} : undefined;
}

/** A JSON object is the response itself, any other JSON or text its `result`. */
function responseOf(line: string): Record<string, unknown> {
  const value = parsedJson(line);
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : {result: value ?? line};
}

function answerTo({id, name}: FunctionCall, response: Record<string, unknown>): Content {
  const functionResponse = {...(id !== undefined && {id}), ...(name !== undefined && {name}), response};
  return {role: 'user', parts: [{functionResponse}]};
}
