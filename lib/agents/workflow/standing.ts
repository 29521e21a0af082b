import {readLedger, waits} from '../../answers/ledger.ts';
import {getFunctionResponses, type Event} from '../../events/event.ts';
import {agentEvent} from '../agent-event.ts';
import type {InvocationContext} from '../base-agent.ts';

/** How things stand with agents that run, told by their Events: what waits, and whose last reply could not be used. */
export class Standing {
  readonly #ctx: InvocationContext;
  readonly #waiting = new Set<string>();
  /** What the last Event says of it. */
  #told: readonly string[] = [];
  /** By branch: why the last reply there has no usable content. */
  readonly #errorCodes = new Map<string, string>();

  /** @param ctx - the place of the agent that runs them */
  constructor(ctx: InvocationContext) {
    this.#ctx = ctx;
  }

  /** Notes a whole Event. */
  note(event: Event): void {
    const responses = getFunctionResponses(event);
    for (const {id} of responses) if (id !== undefined) this.#waiting.delete(id);
    for (const id of event.longRunningToolIds ?? []) this.#waiting.add(id);
    this.#told = event.longRunningToolIds ?? [];
    // The answer to the calls of a reply that cannot be used says nothing new about that reply, nor does what is only written to the state.
    const saysNothing = !event.content || (event.content.role === 'user' && responses.length > 0);
    if (!saysNothing || event.errorCode !== undefined) this.#noteErrorCode(event);
  }

  /** Notes calls of earlier runs that still wait. */
  wait(ids: Iterable<string>): void {
    for (const id of ids) this.#waiting.add(id);
  }

  /** Whether a call of theirs still waits for its answer. */
  get waits(): boolean {
    return this.#left().length > 0;
  }

  /** Whether what they came to cannot be used. */
  get failed(): boolean {
    return this.#errorCodes.size > 0;
  }

  /** A last Event that names what waits, where the last one does not: by that a reader, and whoever runs them, sees that they wait. */
  async *tell(): AsyncGenerator<Event, void, undefined> {
    const ctx = this.#ctx;
    const left = this.#left();
    if (left.every((id) => this.#told.includes(id))) return;
    const {steps, open} = ctx.run;
    yield open.complete(await agentEvent(ctx, steps, {longRunningToolIds: left}));
  }

  /** What still waits of it: a question is over with the call that it was asked for. Of ids that no call bears only their Events know. */
  #left(): string[] {
    if (this.#waiting.size === 0) return [];
    const ledger = readLedger(this.#ctx.run.session.events);
    return [...this.#waiting].filter((id) => {
      const call = ledger.get(id);
      return !call || waits(call);
    });
  }

  /** What is said in a branch goes beyond what was said there and below it. */
  #noteErrorCode({branch = '', errorCode}: Event): void {
    for (const path of this.#errorCodes.keys()) {
      if (branch === '' || path === branch || path.startsWith(`${branch}.`)) this.#errorCodes.delete(path);
    }
    if (errorCode !== undefined) this.#errorCodes.set(branch, errorCode);
  }
}
