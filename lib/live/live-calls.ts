import {InvocationContext} from '../agents/base-agent.ts';
import type {LlmAgentSettings} from '../agents/llm/llm-agent-config.ts';
import type {Toolbox} from '../agents/llm/toolbox.ts';
import {Gate} from '../async/gate.ts';
import type {FunctionCall, FunctionResponse} from '../content.ts';
import type {Event} from '../events/event.ts';
import {wireCallId} from '../models/call-id.ts';
import {LiveCallGroup} from './live-call-group.ts';

export interface LiveCallsOptions {
  readonly agent: LlmAgentSettings;
  readonly ctx: InvocationContext;
  readonly toolbox: Toolbox;
  /** The tool that stops streams: it must not wait for the place that a stream holds among those that run at a time. */
  readonly ungated: string | undefined;
  /** The tool that hands the conversation over. */
  readonly transferTool: string | undefined;
  /** Stores an Event and shows it to the reader. */
  readonly put: (event: Event) => Promise<void>;
  /** Tells the model what calls came to. */
  readonly answer: (calls: readonly FunctionCall[], responses: readonly FunctionResponse[]) => Promise<void>;
  /** Told of answers that are stored, before the model is. Returns whether they hand over, which ends all that is under way. */
  readonly handOver: (answer: Event) => boolean;
  /** Told when calls have ended. */
  readonly onEnd: () => void;
  readonly onFailure: (error: unknown) => void;
}

/** The calls of a live run: they run while the connection goes on, and each answer goes out when its group is done. */
export class LiveCalls {
  readonly #options: LiveCallsOptions;
  readonly #groups = new Map<LiveCallGroup, Promise<void>>();
  /** Those whose answers are not stored yet, in the order of their calls. */
  readonly #open = new Set<LiveCallGroup>();
  readonly #waiting: (() => void)[] = [];

  constructor(options: LiveCallsOptions) {
    this.#options = options;
    options.ctx.run.life.onEnd(() => this.#tellChanged());
  }

  /** Whether the model waits for an answer. */
  get isWaitedFor(): boolean {
    return [...this.#groups.keys()].some((group) => !group.orphaned && group.wasWaitedFor);
  }

  get isRunning(): boolean {
    return this.#groups.size > 0;
  }

  /** Starts the calls of a reply, once it is stored. */
  start(reply: Event, calls: readonly FunctionCall[], stored: Promise<void>): void {
    const {agent, toolbox, ungated, ctx} = this.#options;
    const isStop = ({name}: FunctionCall): boolean => ungated !== undefined && name === ungated;
    const holdsUp = (call: FunctionCall): boolean => toolbox.factsOf(call.name)?.responseScheduling === undefined && !isStop(call);
    const stops = calls.filter((call) => isStop(call));
    const waitedFor = calls.filter((call) => holdsUp(call));
    const others = calls.filter((call) => !isStop(call) && !holdsUp(call));
    const shared = {agent, ctx, toolbox, reply};
    const groups: LiveCallGroup[] = [];
    if (waitedFor.length > 0) groups.push(new LiveCallGroup({...shared, calls: waitedFor, waitedFor: true}));
    for (const call of others) groups.push(new LiveCallGroup({...shared, calls: [call], waitedFor: false}));
    if (stops.length > 0) {
      const free = new InvocationContext({...ctx.run, gate: new Gate(Infinity)}, ctx.agent, ctx.branch);
      groups.push(new LiveCallGroup({...shared, ctx: free, calls: stops, waitedFor: true}));
    }
    for (const group of groups) {
      this.#open.add(group);
      this.#groups.set(group, this.#run(group, stored));
    }
  }

  /** The model takes calls back: exactly those are stopped, and exactly their answers are not sent. */
  cancel(ids: readonly string[]): void {
    for (const group of this.#groups.keys()) group.cancel(({id = ''}) => ids.includes(wireCallId(id) ?? ''));
    this.#tellChanged();
  }

  /** The user has interrupted the model. Servers tell of no cancellation then, and take no late answer to a call they waited for. */
  interrupt(): void {
    for (const group of this.#groups.keys()) if (group.waitedFor && !group.orphaned) group.cancel();
    this.#tellChanged();
  }

  /** Stops the running calls of a tool whose answers come as a stream. Returns how many there were. */
  stopStreaming(name: string): number {
    let stopped = 0;
    for (const group of this.#groups.keys()) if (!group.waitedFor) stopped += group.stop((call) => call.name === name);
    this.#tellChanged();
    return stopped;
  }

  /**
   * A new connection has come: nobody waits there for calls that its server does not know.
   *
   * @returns the ids of those that run, and whether one is among them that the model of the old one waited for
   */
  orphan(isKnown: (id: string) => boolean): {readonly all: readonly string[]; readonly waitedFor: boolean} {
    for (const group of this.#groups.keys()) group.orphaned = !group.batch.calls.every(({id = ''}) => isKnown(id));
    const groups = [...this.#groups.keys()].filter(({orphaned}) => orphaned);
    this.#tellChanged();
    return {
      all: groups.flatMap(({batch}) => batch.calls.flatMap(({id}) => id ?? [])),
      waitedFor: groups.some((group) => group.wasWaitedFor),
    };
  }

  /** Resolves when it may have changed whether the model waits. */
  changed(): Promise<void> {
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  /** Resolves when no call runs any more. */
  async ended(): Promise<void> {
    await Promise.all(this.#groups.values());
  }

  /** Answers the calls that the end has cut off, where the run itself goes on. To be asked once all have ended. */
  async answerCutOff(): Promise<void> {
    const {ctx, put} = this.#options;
    for (const group of this.#open) {
      for (const event of await group.batch.close(ctx.live)) void put(event);
      group.close();
    }
  }

  async #run(group: LiveCallGroup, stored: Promise<void>): Promise<void> {
    const {ctx, transferTool, put, handOver, onFailure, onEnd} = this.#options;
    try {
      await stored;
      ctx.run.life.throwIfEnded();
      for await (const event of group.round.run()) await this.#progress(group, event);
      const answer = group.answer(transferTool);
      await put(answer);
      ctx.run.life.throwIfEnded();
      group.close();
      this.#open.delete(group);
      // The model hears of its transfer by the end of its connection: what it would say to an answer is nothing for anybody.
      if (!handOver(answer)) await this.#tell(group, answer);
    } catch (error) {
      if (!ctx.run.life.ended) onFailure(error);
    } finally {
      this.#groups.delete(group);
      this.#tellChanged();
      onEnd();
    }
  }

  /** Shows what a generator body yields; told to the model too, where it does not wait for the end. */
  async #progress(group: LiveCallGroup, event: Event): Promise<void> {
    void this.#options.put(event);
    if (!group.waitedFor) await this.#tell(group, event);
  }

  async #tell(group: LiveCallGroup, event: Event): Promise<void> {
    const responses = group.toldOf(event);
    if (responses.length > 0) await this.#options.answer(group.batch.calls, responses);
  }

  #tellChanged(): void {
    for (const resolve of this.#waiting.splice(0)) resolve();
  }
}
