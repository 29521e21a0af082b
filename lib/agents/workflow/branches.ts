import {Gate} from '../../async/gate.ts';
import {Merge, type Arrival} from '../../async/merge.ts';
import type {Event} from '../../events/event.ts';
import type {Steps} from '../../steps/steps.ts';
import type {BaseAgent, InvocationContext} from '../base-agent.ts';
import {BranchCallIds} from './branch-call-ids.ts';
import {Branch, type Handover} from './branch.ts';
import type {Standing} from './standing.ts';
import {StateConflicts} from './state-conflicts.ts';

// Made once: an exception captures its stack.
const OTHER_ENDED = new DOMException('An agent beside this one has ended what they do together', 'AbortError');
const READER_LEFT = new DOMException('The reader left the agents', 'AbortError');

export interface BranchesOptions {
  readonly ctx: InvocationContext;
  /** What runs, and the names that the branches bear. */
  readonly places: readonly {readonly name: string; readonly agent: BaseAgent}[];
  /** How many run at a time. */
  readonly maxConcurrent: number;
  /** Whether an Event asks to end the other branches. */
  readonly escalates: (event: Event) => boolean;
}

/** Agents that run beside each other, and their Events as they come. */
export class Branches {
  readonly #ctx: InvocationContext;
  readonly #escalates: (event: Event) => boolean;
  readonly #merge: Merge<Handover>;
  readonly #branches: readonly Branch[];
  readonly #gate: Gate;
  readonly #conflicts: StateConflicts;
  readonly #standing: Standing;

  /** @param standing - is told of all that the branches say */
  constructor({ctx, places, maxConcurrent, escalates}: BranchesOptions, standing: Standing) {
    const {run, branch: above, agentName} = ctx;
    this.#ctx = ctx;
    this.#escalates = escalates;
    this.#standing = standing;
    const merge = (this.#merge = new Merge<Handover>(places.length));
    this.#gate = new Gate(maxConcurrent);
    this.#conflicts = new StateConflicts(run.diagnose);
    const inBranches = {...run, callIds: run.callIds ?? new BranchCallIds()};
    this.#branches = places.map(({name, agent}, index) => {
      const path = `${above === undefined ? '' : `${above}.`}${agentName}.${name}`;
      return new Branch({run: inBranches, name, agent, index, path, merge, escalates});
    });
  }

  /** @throws the error of the first branch that fails, once the others are over */
  async *run(): AsyncGenerator<Event, void, undefined> {
    const {life} = this.#ctx.run;
    let reason = READER_LEFT;
    try {
      this.#start();
      for (let next = await this.#merge.peek(); next; next = await this.#merge.peek()) {
        life.throwIfEnded();
        if (this.#isTurn(next)) yield* this.#take(next);
        else yield* this.#show(next.source);
      }
      life.throwIfEnded();
      yield* this.#closeStopped();
      yield* this.#standing.tell();
    } catch (error) {
      reason = OTHER_ENDED;
      throw error;
    } finally {
      for (const branch of this.#branches) branch.stop(reason);
      await Promise.all(this.#branches.map(({over}) => over));
    }
  }

  #start(): void {
    for (const branch of this.#branches) {
      const start = (steps: Steps): Promise<void> =>
        this.#gate.run(
          () => branch.run(steps),
          () => {},
        );
      this.#ctx.run.steps.child(`branch ${branch.name}`, start).catch((error: unknown) => branch.fail(error));
    }
  }

  /** Partial Events are only shown; and of a branch that was stopped the stop counts, not what it fails with because of that. */
  #isTurn({source, value}: Arrival<Handover>): boolean {
    return 'event' in value ? value.isWhole : !this.#branches[source]?.life.ended;
  }

  /**
   * Takes what a branch has handed over. Whose turn it is is a step: a run that is replayed takes the same turns, whichever branch is first
   * then. Before one branch ends the others, what they have handed over is taken with it.
   */
  async *#take(next: Arrival<Handover>): AsyncGenerator<Event, void, undefined> {
    const {steps, life} = this.#ctx.run;
    const sources = await steps.step(`next of ${this.#ctx.agentName}`, () => this.#turnOf(next));
    const taken: {readonly source: number; readonly event: Event}[] = [];
    for (const source of sources) {
      const value = yield* this.#show(source, true);
      life.throwIfEnded();
      if (value && 'error' in value) throw value.error;
      if (value) taken.push({source, event: value.event});
    }
    const [first] = taken;
    if (first && this.#escalates(first.event)) this.#stopOthers(first.source);
    for (const {source, event} of taken) yield this.#pass(source, event);
  }

  /** The branch whose turn it is, and those whose Events go with it. */
  #turnOf({source, value}: Arrival<Handover>): number[] {
    const isEnd = 'event' in value && this.#escalates(value.event);
    const others = isEnd ? this.#merge.waiting.filter((it) => it.source !== source && 'event' in it.value && it.value.isWhole) : [];
    return [source, ...others.map((it) => it.source)];
  }

  /** Shows the next Event of a branch where it is partial; with `untilWhole` all of them, up to what is not to be only shown. */
  async *#show(source: number, untilWhole = false): AsyncGenerator<Event, Handover | undefined, undefined> {
    for (;;) {
      const value = await this.#merge.take(source);
      if (!value || 'error' in value || value.isWhole) return value;
      yield value.event;
      if (!untilWhole) return undefined;
    }
  }

  #stopOthers(source: number): void {
    for (const [index, branch] of this.#branches.entries()) if (index !== source) branch.stop(OTHER_ENDED);
  }

  /** What a stop within the run has left half done: it is told, as the run goes on. */
  async *#closeStopped(): AsyncGenerator<Event, void, undefined> {
    for (const [source, branch] of this.#branches.entries()) {
      for (let work = branch.open.takeInnermost(); work; work = branch.open.takeInnermost()) {
        const events = (await work.close(this.#ctx.live)).map((event) => branch.hold(event));
        this.#ctx.run.life.throwIfEnded();
        for (const event of events) yield this.#pass(source, event);
      }
    }
  }

  #pass(source: number, event: Event): Event {
    this.#standing.note(event);
    this.#conflicts.note(source, event);
    return this.#branches[source]?.deliver(event) ?? event;
  }
}
