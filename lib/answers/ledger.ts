import type {FunctionCall, FunctionResponse} from '../content.ts';
import {isUserRequest, requestedCallId} from '../context/requests.ts';
import {getFunctionCalls, getFunctionResponses, type Event} from '../events/event.ts';

/** A call of the session, and what has become of it. */
export interface LedgerCall {
  readonly id: string;
  /** The reply that it stands in. */
  readonly event: Event;
  readonly call: FunctionCall;
  /** Where it is a request to the user of the app: the call that asks. */
  readonly asker?: LedgerCall;
  /** What it has asked the user of the app for. */
  readonly requests: LedgerCall[];
  /** Whether it has ever waited for its response. */
  hasWaited: boolean;
  /** Its last response; missing where there is none. */
  answer?: LedgerAnswer;
}

export interface LedgerAnswer {
  readonly response: FunctionResponse;
  /** Whether no other one replaces it. */
  readonly isFinal: boolean;
  /** Whether it stands for an answer of the user's to what the call has asked for. */
  readonly asks: boolean;
}

/** Every call of a session by its id, as the Events tell it. An id that a model uses again stands for its latest call. */
export function readLedger(events: readonly Event[]): Map<string, LedgerCall> {
  const ledger = new Map<string, LedgerCall>();
  for (const event of events) {
    for (const call of getFunctionCalls(event)) if (call.id !== undefined) addCall(ledger, event, {...call, id: call.id});
    for (const response of getFunctionResponses(event)) {
      const call = ledger.get(response.id ?? '');
      // Nobody but the user answers a request, and a call nobody but its agent and the user.
      if (call && (event.author === 'user' || (!call.asker && event.author === call.event.author))) addAnswer(call, event, response);
    }
  }
  return ledger;
}

function addCall(ledger: Map<string, LedgerCall>, event: Event, call: FunctionCall & {id: string}): void {
  const {id, name} = call;
  if (!isUserRequest(name)) {
    // A tool that is declared so waits from the call on: a crash may have come before its first response.
    ledger.set(id, {id, event, call, requests: [], hasWaited: event.longRunningToolIds?.includes(id) ?? false});
    return;
  }
  // A request is what an agent makes of a call of its own; whatever else bears its name asks nobody.
  const asker = ledger.get(requestedCallId(call) ?? '');
  if (!asker || !event.longRunningToolIds?.includes(id) || event.author !== asker.event.author) return;
  const request = {id, event, call, asker, requests: [], hasWaited: true};
  asker.requests.push(request);
  ledger.set(id, request);
}

function addAnswer(call: LedgerCall, {longRunningToolIds, actions}: Event, response: FunctionResponse): void {
  const isFinal = !longRunningToolIds?.includes(call.id);
  const asks = call.id in actions.requestedToolConfirmations || call.id in actions.requestedAuthConfigs;
  call.answer = {response, isFinal, asks};
  call.hasWaited ||= !isFinal;
}

/** Whether a call waits for what a later message brings: its own response, or the answers to what it has asked for. */
export function waits({asker, answer, requests, hasWaited}: LedgerCall): boolean {
  if (asker) return !answer && !asker.answer?.isFinal;
  if (!answer) return hasWaited;
  return !answer.isFinal && (!answer.asks || requests.some(waits));
}
