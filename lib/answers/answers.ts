import type {Content, Part} from '../content.ts';
import {FunctionResponseError} from '../errors.ts';
import {getFunctionCalls, getFunctionResponses, type Event} from '../events/event.ts';
import {toFunctionResponse} from '../tools/tool-result.ts';
import {confirmationOf} from './confirmation.ts';
import {checkInput} from './input.ts';
import {REQUEST_CONFIRMATION, REQUEST_INPUT, isUserRequest} from '../context/requests.ts';
import {agentToResume, type TreeNode} from './agent-to-resume.ts';

/** A message that answers calls which wait. */
export interface Answers<A> {
  /** The message with the calls' names filled in. */
  readonly message: Content;
  /** Who goes on: the agent that made the calls, or the workflow that it runs in; `undefined` where the tree does not have it any more. */
  readonly agent: A | undefined;
  /** Whether other calls of the same replies still wait. */
  readonly siblingsWait: boolean;
}

interface Call {
  readonly event: Event;
  readonly name: string | undefined;
  readonly args: Readonly<Record<string, unknown>> | undefined;
  waits: boolean;
  /** Whether it waits for the answer to a request, and not for a response of its own. */
  readonly asks: boolean;
}

/**
 * Reads a message as answers to calls that wait; `undefined` where it answers none.
 *
 * @param root - the top of the agents that may have made the calls
 * @throws {@link FunctionResponseError} for an answer to a call that does not exist, never waited, or has been answered
 */
export function answersOf<A extends TreeNode<A>>(events: readonly Event[], message: Content, root: A): Answers<A> | undefined {
  const parts = message.parts ?? [];
  if (!parts.some((part) => part.functionResponse)) return undefined;
  const calls = waitingCalls(events);
  let last: Call | undefined;
  const answered = parts.map((part) => {
    if (!part.functionResponse) return part;
    last = take(calls, part.functionResponse.id ?? '');
    return answerPart(part, part.functionResponse, last);
  });
  // Each request stands for itself: what it grants is run at once.
  const isGrant = answered.some(({functionResponse}) => isUserRequest(functionResponse?.name));
  const touched = new Set(parts.flatMap((part) => calls.get(part.functionResponse?.id ?? '')?.event ?? []));
  const siblingsWait = !isGrant && [...calls.values()].some((call) => call.waits && touched.has(call.event));
  return {message: {...message, parts: answered}, agent: agentToResume(root, last?.event.author ?? ''), siblingsWait};
}

/** Every call of the session that has ever waited. */
function waitingCalls(events: readonly Event[]): Map<string, Call> {
  const made = new Map<string, Pick<Call, 'event' | 'name' | 'args'>>();
  const waiting = new Map<string, Call>();
  for (const event of events) {
    for (const {id, name, args} of getFunctionCalls(event)) if (id !== undefined) made.set(id, {event, name, args});
    const {requestedToolConfirmations, requestedAuthConfigs} = event.actions;
    // A request is a call that nobody answers in the run.
    for (const {id = '', name} of getFunctionCalls(event)) {
      const call = made.get(id);
      if (isUserRequest(name) && call && event.longRunningToolIds?.includes(id)) waiting.set(id, {...call, waits: true, asks: false});
    }
    for (const {id = ''} of getFunctionResponses(event)) {
      const call = made.get(id);
      if (event.longRunningToolIds?.includes(id) && call)
        waiting.set(id, {...call, waits: true, asks: id in requestedToolConfirmations || id in requestedAuthConfigs});
      else {
        const earlier = waiting.get(id);
        if (earlier) earlier.waits = false;
      }
    }
  }
  return waiting;
}

function take(calls: ReadonlyMap<string, Call>, id: string): Call {
  const call = calls.get(id);
  if (!call || call.asks) throw new FunctionResponseError('UNKNOWN_FUNCTION_CALL', id);
  if (!call.waits) throw new FunctionResponseError('FUNCTION_CALL_ANSWERED', id);
  call.waits = false;
  return call;
}

function answerPart(part: Part, given: NonNullable<Part['functionResponse']>, call: Call): Part {
  const {response} = given;
  const name = call.name ?? given.name;
  if (name === REQUEST_CONFIRMATION) confirmationOf(response);
  if (name === REQUEST_INPUT) checkInput(response, call.args);
  return {...part, functionResponse: {...given, ...(name !== undefined && {name}), response: toFunctionResponse(response).response}};
}
