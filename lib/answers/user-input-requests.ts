import type {FunctionCall} from '../content.ts';
import {REQUEST_CONFIRMATION, REQUEST_CREDENTIAL, REQUEST_INPUT, type ToolConfirmation} from '../context/requests.ts';
import {getFunctionCalls, type Event} from '../events/event.ts';
import {withoutRewound} from '../sessions/rewound.ts';
import {readLedger, waits} from './ledger.ts';

/** What a person is asked for: words or data, a credential, or leave to run a tool. */
export type UserInputKind = 'input' | 'credential' | 'confirmation';

/** What a run asks the user of the app, in one form for all kinds. */
export interface UserInputRequest {
  readonly kind: UserInputKind;
  /** The id of the `functionResponse` that answers it. */
  readonly interruptId: string;
  /** The name of the `functionResponse` that answers it. */
  readonly functionCallName: string;
  /** The agent that asks. */
  readonly author?: string;
  /** What is asked, in words: the message, or the hint of a confirmation. */
  readonly message?: string;
  /** What a tool has sent along with a request for confirmation. */
  readonly payload?: unknown;
  /** The JSON Schema that an input has to fit. */
  readonly responseSchema?: unknown;
  /** The tool that is to be confirmed. */
  readonly toolName?: string;
  /** The credential that is asked for, as the tool described it. */
  readonly authConfig?: unknown;
}

/** What one Event asks of the user of the app, in the order of its calls, whether or not it was answered since. A partial Event asks nothing. */
export function getUserInputRequests(event: Event): UserInputRequest[] {
  if (event.partial) return [];
  return getFunctionCalls(event).flatMap((call) => requestOf(call, event.author) ?? []);
}

/** Whether an Event asks something of the user of the app. */
export function requiresUserInput(event: Event): boolean {
  return getUserInputRequests(event).length > 0;
}

/**
 * What a session waits for, in the order in which it was asked.
 *
 * @param events - the Events of the session, all of them
 */
export function getPendingUserInputRequests(events: readonly Event[]): UserInputRequest[] {
  const waiting = [...readLedger(withoutRewound([...events])).values()].filter(waits);
  return waiting.flatMap(({call, event}) => requestOf(call, event.author) ?? []);
}

function requestOf({id, name, args = {}}: FunctionCall, author: string): UserInputRequest | undefined {
  if (id === undefined) return undefined;
  switch (name) {
    case REQUEST_INPUT: {
      const {message, response_schema: responseSchema} = args;
      return given({kind: 'input', interruptId: id, functionCallName: name, author, message, responseSchema});
    }
    case REQUEST_CREDENTIAL:
      return given({kind: 'credential', interruptId: id, functionCallName: name, author, authConfig: args['authConfig']});
    case REQUEST_CONFIRMATION: {
      const {hint: message, payload} = (args['toolConfirmation'] ?? {}) as Partial<ToolConfirmation>;
      const {name: toolName} = (args['originalFunctionCall'] ?? {}) as FunctionCall;
      return given({kind: 'confirmation', interruptId: id, functionCallName: name, author, message, payload, toolName});
    }
    default:
      return undefined;
  }
}

function given(request: {readonly [K in keyof UserInputRequest]: unknown}): UserInputRequest {
  return Object.fromEntries(Object.entries(request).filter(([, value]) => value !== undefined)) as unknown as UserInputRequest;
}
