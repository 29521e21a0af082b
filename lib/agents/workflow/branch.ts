import type {Lifetime} from '../../async/lifetime.ts';
import type {Merge} from '../../async/merge.ts';
import type {Event} from '../../events/event.ts';
import type {Steps} from '../../steps/steps.ts';
import {InvocationContext, type BaseAgent} from '../base-agent.ts';
import {abandonedWork} from '../diagnostic.ts';
import type {RunScope} from '../run-scope.ts';
import {BranchWork} from './branch-work.ts';
import {isWholeEvent} from './whole-event.ts';

/** What a branch hands over: an Event, or the error that it failed with. */
export type Handover = {readonly event: Event; readonly isWhole: boolean} | {readonly error: unknown};

export interface BranchOptions {
  readonly run: RunScope;
  readonly name: string;
  readonly agent: BaseAgent;
  /** Its number among the branches. */
  readonly index: number;
  /** The path that its Events are seen by. */
  readonly path: string;
  readonly merge: Merge<Handover>;
  /** Whether an Event asks to end the other branches. */
  readonly escalates: (event: Event) => boolean;
}

/** One agent that runs beside others, with a life of its own: it can be stopped while the run goes on. */
export class Branch {
  readonly name: string;
  readonly life: Lifetime;
  readonly open: BranchWork;
  /** Settles when it is over: its agent has ended, or was left behind. */
  readonly over: Promise<void>;
  readonly #options: BranchOptions;
  readonly #settle: () => void;
  /** What takes an Event back that was handed over and is not delivered. */
  readonly #held = new Map<Event, () => void>();
  #isOver = false;
  #isStarted = false;
  #cancelTimer = (): void => {};

  constructor(options: BranchOptions) {
    const {run, name} = options;
    this.#options = options;
    this.name = name;
    this.life = run.life.child();
    this.open = new BranchWork(run.open);
    const {promise, resolve} = Promise.withResolvers<void>();
    this.over = promise;
    this.#settle = resolve;
    this.life.onEnd(() => this.#letGo());
  }

  /** Runs the agent to its end. Never rejects. */
  async run(steps: Steps): Promise<void> {
    if (this.#isOver) return;
    this.#isStarted = true;
    const {run, agent, path} = this.#options;
    const {life, open} = this;
    try {
      await this.#read(agent.runAsync(new InvocationContext({...run, steps, life, open}, agent, path)));
      this.#end();
    } catch (error) {
      this.fail(error);
    }
  }

  /** It is over by an error. */
  fail(error: unknown): void {
    const {merge, index} = this.#options;
    void merge.put(index, {error}, true);
    this.#end();
  }

  /** Ends its life, if it is not over. It is over in bounded time then, whatever its agent does. */
  stop(reason: unknown): void {
    if (!this.#isOver) this.life.end(reason);
  }

  /** Keeps an Event: it is stored with the end of the run, should that come before it is delivered. */
  hold(event: Event): Event {
    this.#held.set(event, this.#options.run.open.add({close: async () => [event]}));
    return event;
  }

  /** An Event goes to the reader. From here on it is stored whatever happens. */
  deliver(event: Event): Event {
    this.#held.get(event)?.();
    this.#held.delete(event);
    return this.#options.run.open.complete(event);
  }

  async #read(events: AsyncGenerator<Event, void, undefined>): Promise<void> {
    try {
      for (let next = await events.next(); !next.done; next = await events.next()) {
        await this.#handOver(next.value);
        this.life.throwIfEnded();
      }
    } finally {
      await events.return();
    }
  }

  /** Resolves when the agent may go on. */
  async #handOver(given: Event): Promise<void> {
    const {run, merge, index, escalates} = this.#options;
    const isWhole = isWholeEvent(given);
    const isDone = isWhole && run.open.takeCompleted(given);
    if (this.#isOver || (this.life.ended && !isDone)) return;
    const event = isWhole ? this.hold(this.#marked(given)) : given;
    const goOn = merge.put(index, {event, isWhole}, isWhole && escalates(event));
    if (!this.life.ended) await goOn;
  }

  /** An agent of the user's may not say whose its Event is; without a branch the siblings would see it. */
  #marked(event: Event): Event {
    const {run, path} = this.#options;
    if (event.branch !== undefined && event.invocationId !== '') return event;
    return {...event, branch: event.branch ?? path, invocationId: event.invocationId || run.invocationId};
  }

  #letGo(): void {
    const {run, merge, index} = this.#options;
    merge.letGo(index);
    if (!this.#isStarted) this.#end();
    if (this.#isOver) return;
    // The turn of the timers after the grace lets work that was left behind inside, such as a tool, end what waits for it.
    const leaveSoon = (): void => void (this.#cancelTimer = run.timers.set(0, () => this.#leave()));
    this.#cancelTimer = run.timers.set(run.config.abortGraceMs, leaveSoon);
  }

  /** Its agent ignores the end: what it still does goes nowhere. */
  #leave(): void {
    const {run, agent} = this.#options;
    this.open.abandonAgents();
    const left = this.open.abandonForeign();
    for (const {name} of left.length > 0 ? left : [{name: `agent ${agent.name}`}]) run.diagnose(abandonedWork(name));
    this.#end();
  }

  #end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#cancelTimer();
    this.life.close();
    this.#options.merge.end(this.#options.index);
    this.#settle();
  }
}
