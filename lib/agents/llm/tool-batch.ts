import type {FunctionCall, Part} from '../../content.ts';
import {asksUser, mergeEventActions, type EventActions} from '../../events/event-actions.ts';
import type {Event} from '../../events/event.ts';
import {NOT_STARTED} from '../../tools/tool-result.ts';
import type {InvocationContext} from '../base-agent.ts';
import type {Closing, Unfinished} from '../open-work.ts';

/** How one call ended, as plain JSON. */
export interface ToolRecord {
  readonly response: Record<string, unknown>;
  /** Media of the response. */
  readonly parts?: FunctionResponseParts | undefined;
  readonly actions?: EventActions | undefined;
  /** The final response comes in a later run. */
  readonly waits?: boolean | undefined;
}

type FunctionResponseParts = NonNullable<NonNullable<Part['functionResponse']>['parts']>;

/** The answer to a call that a stop found running. */
export const CANCELLED: Readonly<Record<string, unknown>> = Object.freeze({error: 'cancelled; it may have taken effect', started: true});

/** The calls of one reply and what has become of them: one response for each, whenever it is asked. */
export class ToolBatch implements Unfinished {
  readonly calls: readonly FunctionCall[];
  readonly #ctx: InvocationContext;
  readonly #reply: Event;
  readonly #records: (ToolRecord | undefined)[];
  readonly #started = new Set<number>();
  readonly #waves = new Set<number>();
  #answer: Event | undefined;
  /** What the user of the app is asked by its calls. */
  question: Event | undefined;

  /** @param calls - the batch's own copies, so that nobody who sees the Event can change what is run */
  constructor(ctx: InvocationContext, reply: Event, calls: readonly FunctionCall[]) {
    this.#ctx = ctx;
    this.#reply = reply;
    this.calls = calls;
    this.#records = Array.from({length: calls.length});
  }

  /** The body of a call has started: from now on it may have had an effect. */
  start(index: number): void {
    this.#started.add(index);
  }

  /** The calls from here on see what those before have written. */
  beginWave(start: number): void {
    this.#waves.add(start);
  }

  settle(index: number, record: ToolRecord): void {
    this.#records[index] = record;
  }

  /** The calls of a reply that cannot be used: none is run. */
  refuse(errorCode: string): void {
    this.calls.forEach((_, index) => this.settle(index, {response: {error: `not run: the reply ended with ${errorCode}`}}));
  }

  /** The actions of the calls before `end`, in call order. */
  actionsBefore(end: number): EventActions {
    return mergeEventActions(this.#records.slice(0, end).flatMap((record) => record?.actions ?? []));
  }

  /** The one Event that answers every call, in call order. It closes the batch once it is stored. */
  answer(id: string, timestamp: number): Event {
    return (this.#answer ??= this.#event(id, timestamp));
  }

  #event(id: string, timestamp: number): Event {
    const records = this.calls.map(
      (_, index) => this.#records[index] ?? {response: {...(this.#started.has(index) ? CANCELLED : NOT_STARTED)}},
    );
    if (records.length > 1) this.#reportConflicts(records);
    const waiting = this.calls.flatMap((call, index) => (records[index]?.waits ? (call.id ?? []) : []));
    const event: Event = {
      id,
      invocationId: this.#ctx.invocationId,
      author: this.#ctx.agentName,
      timestamp,
      actions: this.actionsBefore(records.length),
      content: {role: 'user', parts: this.calls.map((call, index) => responsePart(call, records[index]))},
    };
    if (this.#ctx.branch !== undefined) event.branch = this.#ctx.branch;
    if (waiting.length > 0) event.longRunningToolIds = waiting;
    return event;
  }

  /** Answers what a stop left open. A reply that never reached the session has no calls to answer. */
  async close({steps}: Closing): Promise<Event[]> {
    if (!this.#isStored(this.#reply) || (this.#answer && this.#isStored(this.#answer))) return [];
    // A question that nobody has seen cannot be answered.
    if (!(this.question ? this.#isStored(this.question) : this.#answer)) this.#dropRequests();
    return [this.answer(await steps.uuid(), await steps.now())];
  }

  #dropRequests(): void {
    this.#answer = undefined;
    this.#records.forEach(({actions} = {response: {}}, index) => {
      if (actions && asksUser(actions, this.calls)) this.#records[index] = undefined;
    });
  }

  #isStored({id}: Event): boolean {
    return this.#ctx.run.session.events.some((event) => event.id === id);
  }

  #reportConflicts(records: readonly ToolRecord[]): void {
    const writers = new Map<string, {value: string; id: string}>();
    records.forEach((record, index) => {
      if (this.#waves.has(index)) writers.clear();
      for (const [name, written] of Object.entries(record.actions?.stateDelta ?? {})) {
        const [value, id] = [JSON.stringify(written), this.calls[index]?.id ?? ''];
        const earlier = writers.get(name);
        writers.set(name, {value, id});
        if (!earlier || earlier.value === value) continue;
        const message = `The calls \`${earlier.id}\` and \`${id}\` of one batch wrote different values to the state key \`${name}\`; the later won`;
        this.#ctx.run.diagnose({code: 'STATE_CONFLICT', name, functionCallIds: [earlier.id, id], message});
      }
    });
  }
}

function responsePart(call: FunctionCall, record: ToolRecord | undefined): Part {
  const functionResponse: NonNullable<Part['functionResponse']> = {};
  if (call.id !== undefined) functionResponse.id = call.id;
  if (call.name !== undefined) functionResponse.name = call.name;
  functionResponse.response = record?.response ?? {};
  if (record?.parts) functionResponse.parts = record.parts;
  return {functionResponse};
}
