import type {Content, Part} from '../content.ts';
import {REQUEST_CONFIRMATION, REQUEST_INPUT} from '../context/requests.ts';
import {expectOption, FunctionResponseError} from '../errors.ts';
import {createEvent, type Event} from '../events/event.ts';
import type {Steps} from '../steps/steps.ts';
import {NOT_STARTED, toFunctionResponse} from '../tools/tool-result.ts';
import {agentToResume, type TreeNode} from './agent-to-resume.ts';
import {confirmationOf} from './confirmation.ts';
import {isToRun} from './granted.ts';
import {checkInput} from './input.ts';
import {readLedger, waits, type LedgerCall} from './ledger.ts';

/**
 * Reads a message as answers to calls that wait; `undefined` where it answers none.
 *
 * @param events - the session's Events, the list that grows with the run
 * @param root - the top of the agents that may have made the calls
 * @throws {@link FunctionResponseError} for an answer to a call that never waited, has been answered, or is not what it was
 * @throws {@link InvalidOptionError} for an answer of a wrong form, and for answers to agents that do not run together
 */
export function answersOf<A extends TreeNode<A>>(events: readonly Event[], message: Content, root: A): Answers<A> | undefined {
  return message.parts?.some((part) => part.functionResponse) ? new Answers(events, message, root) : undefined;
}

/** A message that answers calls which wait. */
export class Answers<A extends TreeNode<A>> {
  /** The message with the calls' names filled in. */
  readonly message: Content;
  /** Who goes on: the agent that made the calls, or the workflow that it runs in; `undefined` where the tree does not have it any more. */
  readonly agent: A | undefined;
  /** Whether nobody can go on yet: other calls of the same replies still wait, or another question of the same call. */
  readonly siblingsWait: boolean;
  readonly #events: readonly Event[];
  /** The calls that run again with it, or are refused. */
  readonly #granted: readonly string[];

  constructor(events: readonly Event[], message: Content, root: A) {
    const ledger = readLedger(events);
    const parts = message.parts ?? [];
    const answered = new Set<LedgerCall>();
    const named = parts.map((part) => {
      if (!part.functionResponse) return part;
      const call = take(ledger, part.functionResponse);
      answered.add(call.asker ?? call);
      return call.answer ? {...part, functionResponse: call.answer.response} : part;
    });
    const agents = new Set([...answered].map(({event}) => agentToResume(root, event.author)));
    expectOption(agents.size === 1, 'request.newMessage', 'answers to one agent; another is answered in a message of its own', parts);
    this.#events = events;
    this.#granted = [...answered].filter(isToRun).map(({id}) => id);
    [this.agent] = agents;
    if (!this.agent && this.#granted[0] !== undefined) throw new FunctionResponseError('AGENT_NOT_FOUND', this.#granted[0]);
    this.message = {...message, parts: named};
    const isComplete = ({event}: LedgerCall): boolean => ![...ledger.values()].some((call) => call.event === event && waits(call));
    this.siblingsWait = this.#granted.length === 0 && ![...answered].every(isComplete);
  }

  /** Answers the calls that the message granted and that were not run: the run was stopped, or a hook took its place. */
  async close({steps}: {readonly steps: Steps}): Promise<Event[]> {
    const ledger = readLedger(this.#events);
    const cut = this.#granted.flatMap((id) => ledger.get(id) ?? []).filter(isToRun);
    const closing: Event[] = [];
    for (const reply of new Set(cut.map(({event}) => event))) {
      const parts = cut.flatMap(({id, event, call: {name = ''}}): Part[] =>
        event === reply ? [{functionResponse: {id, name, response: {...NOT_STARTED}}}] : [],
      );
      const {author, branch} = reply;
      const {invocationId = ''} = this.#events.at(-1) ?? {};
      const params = {author, invocationId, content: {role: 'user', parts}, ...(branch !== undefined && {branch})};
      closing.push(createEvent({...params, id: await steps.uuid(), timestamp: await steps.now()}));
    }
    return closing;
  }
}

/** The call that a response answers, with the answer noted. */
function take(ledger: ReadonlyMap<string, LedgerCall>, given: NonNullable<Part['functionResponse']>): LedgerCall {
  const {id = ''} = given;
  const it = ledger.get(id);
  if (!it?.hasWaited || it.answer?.asks) throw new FunctionResponseError('UNKNOWN_FUNCTION_CALL', id);
  if (!waits(it)) throw new FunctionResponseError('FUNCTION_CALL_ANSWERED', id);
  const {name = given.name, args = {}} = it.call;
  if (given.name !== undefined && given.name !== name) throw new FunctionResponseError('FUNCTION_NAME_MISMATCH', id);
  if (name === REQUEST_CONFIRMATION) {
    const {originalFunctionCall} = args as {originalFunctionCall?: {name?: string}};
    if (originalFunctionCall?.name !== it.asker?.call.name) throw new FunctionResponseError('FUNCTION_CALL_CHANGED', id);
    confirmationOf(given.response);
  }
  if (name === REQUEST_INPUT) checkInput(given.response, args);
  const response = {...given, ...(name !== undefined && {name}), response: toFunctionResponse(given.response).response};
  it.answer = {response, isFinal: true, asks: false};
  return it;
}
