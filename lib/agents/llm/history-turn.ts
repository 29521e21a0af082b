import type {Content, FunctionCall, Part} from '../../content.ts';
import type {Event} from '../../events/event.ts';
import {servedParts} from '../../events/served-parts.ts';

/** One function call of a turn, and the latest response to it. */
export interface HistoryCall {
  readonly turn: HistoryTurn;
  readonly call: FunctionCall;
  /** The next call of the same turn with the same id: sessions of other runtimes may hold such. */
  twin?: HistoryCall;
  response?: Part;
  /** Whether its final response comes with a later message of the user. */
  waiting: boolean;
  /** How many of its questions to the user of the app are open; 0 where all were answered, and what that led to is not known yet. */
  questions?: number;
}

/** A model content with function calls, and what is known of their responses. */
export class HistoryTurn {
  readonly content: Content;
  readonly calls: HistoryCall[] = [];
  /** Where its calls stand in the layout; their responses stand right behind. */
  at = 0;
  readonly #errorCode: string | undefined;
  /** All calls before it have a response, so that finding the next one without is not a search from the start. */
  #firstOpen = 0;

  constructor(content: Content, {errorCode, longRunningToolIds}: Event) {
    this.content = content;
    this.#errorCode = errorCode;
    const served = servedParts(content.parts ?? []);
    for (const part of content.parts ?? []) {
      const {functionCall: call} = part;
      if (!call || served.has(part)) continue;
      const waiting = !errorCode && !!longRunningToolIds?.includes(call.id ?? '');
      this.calls.push({turn: this, call, waiting});
    }
  }

  get isWaiting(): boolean {
    return this.calls.some((call) => call.waiting);
  }

  /** The first call without a response that one without an id of its own may belong to. */
  openCall(name: string | undefined, withoutId: boolean): HistoryCall | undefined {
    while (this.calls[this.#firstOpen]?.response) this.#firstOpen++;
    for (let at = this.#firstOpen; at < this.calls.length; at++) {
      const call = this.calls[at];
      if (!call || call.response || (withoutId && call.call.id)) continue;
      if (!name || !call.call.name || call.call.name === name) return call;
    }
    return undefined;
  }

  /** One content with a response for every call, in call order. */
  responses(): Content {
    const parts = this.calls.map((call) => call.response ?? this.#repair(call));
    return Object.freeze({role: 'user', parts: Object.freeze(parts) as Part[]});
  }

  #repair({call, waiting, questions}: HistoryCall): Part {
    return fitResponse(
      {functionResponse: {response: waiting && questions !== 0 ? {status: 'pending'} : {error: this.#whatIsKnown()}}},
      call,
    );
  }

  #whatIsKnown(): string {
    if (this.#errorCode) return `not run: the reply ended with ${this.#errorCode}`;
    return 'no response was recorded; the call may have taken effect';
  }
}

/** Of the calls of one turn with one id, the one that the next response belongs to. */
export function nextTwin(first: HistoryCall): HistoryCall {
  let waiting: HistoryCall | undefined;
  let last = first;
  for (let call: HistoryCall | undefined = first; call; call = call.twin) {
    if (!call.response) return call;
    if (call.waiting) waiting ??= call;
    last = call;
  }
  return waiting ?? last;
}

/**
 * The part as the answer to this call: itself where it fits already. A model refuses an id or a name unlike the call's, and a response
 * that is no object.
 */
export function fitResponse(part: Part, call: FunctionCall): Part {
  const {id, name, response, ...rest} = part.functionResponse ?? {};
  const fits = typeof response === 'object' && response !== null && !Array.isArray(response);
  if (fits && id === call.id && name === call.name) return part;
  const functionResponse = {
    ...(call.id !== undefined && {id: call.id}),
    ...(call.name !== undefined && {name: call.name}),
    response: fits ? response : response === undefined || response === null ? {} : {result: response},
    ...rest,
  };
  return Object.freeze({...part, functionResponse: Object.freeze(functionResponse)});
}
