import {InvocationContext} from '../agents/base-agent.ts';
import type {LlmAgentSettings} from '../agents/llm/llm-agent-config.ts';
import {ToolBatch} from '../agents/llm/tool-batch.ts';
import type {Toolbox} from '../agents/llm/toolbox.ts';
import {Gate} from '../async/gate.ts';
import type {FunctionCall, FunctionResponse, Part} from '../content.ts';
import type {Event} from '../events/event.ts';
import {CancellableRound} from './cancellable-round.ts';
import {wireCallId} from '../models/call-id.ts';

// Made once: an exception captures its stack.
const CANCELLED = new DOMException('The model no longer wants an answer', 'AbortError');
const STOPPED = new DOMException('The model has stopped the stream', 'AbortError');

export interface LiveCallsOptions {
  readonly agent: LlmAgentSettings;
  readonly ctx: InvocationContext;
  readonly toolbox: Toolbox;
  /** The tool that stops streams: it must not wait for the place that a stream holds among those that run at a time. */
  readonly ungated: string | undefined;
  /** Stores an Event and shows it to the reader. */
  readonly put: (event: Event) => Promise<void>;
  /** Tells the model what calls came to. */
  readonly answer: (calls: readonly FunctionCall[], responses: readonly FunctionResponse[]) => Promise<void>;
  /** Told when calls have ended. */
  readonly onEnd: () => void;
  readonly onFailure: (error: unknown) => void;
}

/** Calls of one message that are answered together: all that the model waits for, or one that it does not wait for. */
interface Group {
  readonly batch: ToolBatch;
  readonly round: CancellableRound;
  readonly waitedFor: boolean;
  /** Which calls the model wants no answer to any more. */
  readonly muted: Set<number>;
  /** Whether the model itself has ended it: then its last answer is only for the record. */
  stopped: boolean;
  /** Whether the server that made the calls is gone, and the one that there is does not know them. */
  orphaned: boolean;
}

/** The calls of a live run: they run while the connection goes on, and each answer goes out when its group is done. */
export class LiveCalls {
  readonly #options: LiveCallsOptions;
  readonly #groups = new Map<Group, Promise<void>>();
  readonly #waiting: (() => void)[] = [];

  constructor(options: LiveCallsOptions) {
    this.#options = options;
    options.ctx.run.life.onEnd(() => this.#tellChanged());
  }

  /** Whether the model waits for an answer. */
  get isWaitedFor(): boolean {
    return [...this.#groups.keys()].some((group) => !group.orphaned && wasWaitedFor(group));
  }

  get isRunning(): boolean {
    return this.#groups.size > 0;
  }

  /** Starts the calls of a reply, once it is stored. */
  start(reply: Event, calls: readonly FunctionCall[], stored: Promise<void>): void {
    const {toolbox, ungated, ctx} = this.#options;
    const isStop = ({name}: FunctionCall): boolean => ungated !== undefined && name === ungated;
    const holdsUp = (call: FunctionCall): boolean => toolbox.factsOf(call.name)?.responseScheduling === undefined && !isStop(call);
    const stops = calls.filter((call) => isStop(call));
    const waitedFor = calls.filter((call) => holdsUp(call));
    const others = calls.filter((call) => !isStop(call) && !holdsUp(call));
    if (waitedFor.length > 0) this.#startGroup(new ToolBatch(ctx, reply, waitedFor), {ctx, stored, waitedFor: true});
    for (const call of others) this.#startGroup(new ToolBatch(ctx, reply, [call]), {ctx, stored, waitedFor: false});
    if (stops.length === 0) return;
    const free = new InvocationContext({...ctx.run, gate: new Gate(Infinity)}, ctx.agent, ctx.branch);
    this.#startGroup(new ToolBatch(free, reply, stops), {ctx: free, stored, waitedFor: true});
  }

  /** The model takes calls back: exactly those are stopped, and exactly their answers are not sent. */
  cancel(ids: readonly string[]): void {
    this.#end(({id = ''}) => ids.includes(wireCallId(id) ?? ''), CANCELLED);
  }

  /** The user has interrupted the model. Servers tell of no cancellation then, and take no late answer to a call they waited for. */
  interrupt(): void {
    for (const group of this.#groups.keys()) if (group.waitedFor && !group.orphaned) this.#endIn(group, () => true, CANCELLED);
  }

  /** Stops the running calls of a tool whose answers come as a stream. Returns how many there were. */
  stopStreaming(name: string): number {
    return this.#end((call, {waitedFor}) => !waitedFor && call.name === name, STOPPED);
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
      waitedFor: groups.some((group) => wasWaitedFor(group)),
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

  #startGroup(batch: ToolBatch, {ctx, stored, waitedFor}: {ctx: InvocationContext; stored: Promise<void>; waitedFor: boolean}): void {
    const {agent, toolbox} = this.#options;
    const group: Group = {
      batch,
      round: new CancellableRound(agent, ctx, batch, toolbox),
      waitedFor,
      muted: new Set(),
      stopped: false,
      orphaned: false,
    };
    this.#groups.set(group, this.#run(group, ctx.run.open.add(batch), stored));
  }

  async #run(group: Group, close: () => void, stored: Promise<void>): Promise<void> {
    const {ctx, put, onFailure, onEnd} = this.#options;
    try {
      await stored;
      ctx.run.life.throwIfEnded();
      for await (const event of group.round.run()) await this.#progress(group, event);
      const answer = group.batch.answer(crypto.randomUUID(), Date.now());
      await put(answer);
      ctx.run.life.throwIfEnded();
      close();
      await this.#tell(group, answer.content?.parts ?? []);
    } catch (error) {
      if (!ctx.run.life.ended) onFailure(error);
    } finally {
      this.#groups.delete(group);
      this.#tellChanged();
      onEnd();
    }
  }

  /** Shows what a generator body yields; told to the model too, where it does not wait for the end. */
  async #progress(group: Group, event: Event): Promise<void> {
    void this.#options.put(event);
    if (!group.waitedFor) await this.#tell(group, event.content?.parts ?? []);
  }

  async #tell({batch: {calls}, muted, waitedFor, stopped}: Group, parts: readonly Part[]): Promise<void> {
    const {toolbox, answer} = this.#options;
    const responses = parts.flatMap(({functionResponse}, index) => {
      if (!functionResponse || muted.has(index)) return [];
      const scheduling = stopped ? 'SILENT' : toolbox.factsOf(functionResponse.name)?.responseScheduling;
      return [waitedFor ? functionResponse : ({...functionResponse, scheduling} as FunctionResponse)];
    });
    if (responses.length > 0) await answer(calls, responses);
  }

  #end(which: (call: FunctionCall, group: Group) => boolean, reason: unknown): number {
    let ended = 0;
    for (const group of this.#groups.keys()) ended += this.#endIn(group, (call) => which(call, group), reason);
    return ended;
  }

  #endIn(group: Group, which: (call: FunctionCall) => boolean, reason: unknown): number {
    const {batch, round, muted} = group;
    let ended = 0;
    batch.calls.forEach((call, index) => {
      if (muted.has(index) || !which(call)) return;
      ended++;
      if (reason === CANCELLED) muted.add(index);
      else group.stopped = true;
      round.cancel(index, reason);
    });
    this.#tellChanged();
    return ended;
  }

  #tellChanged(): void {
    for (const resolve of this.#waiting.splice(0)) resolve();
  }
}

/** Whether the model that made the calls waits for them, or did when its connection was lost. */
function wasWaitedFor({waitedFor, muted, batch}: Group): boolean {
  return waitedFor && muted.size < batch.calls.length;
}
