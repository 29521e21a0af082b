import {InvocationContext} from '../agents/base-agent.ts';
import type {Histories} from '../agents/llm/histories.ts';
import type {History} from '../agents/llm/history.ts';
import {listToolbox, type Toolbox} from '../agents/llm/toolbox.ts';
import type {LiveScope} from '../agents/run-scope.ts';
import type {Lifetime} from '../async/lifetime.ts';
import {InvalidOptionError} from '../errors.ts';
import type {Event} from '../events/event.ts';
import type {Transfer} from 'sluice/flow';
import {isHandedOver, liveTransferOf, placeOf, type HandOver} from './hand-over.ts';
import type {LiveAgent} from './live-agent.ts';
import {LiveConversation} from './live-conversation.ts';
import {LiveOutbox} from './live-outbox.ts';
import {LiveRecorder} from './live-recorder.ts';
import {buildLiveRequest, takenOver} from './live-requests.ts';
import {SharedInput} from './shared-input.ts';
import {withStopStreaming} from './stop-streaming.ts';

// Made once: an exception captures its stack.
const OVER = new DOMException('The live run is over', 'AbortError');
const HANDED_OVER = new DOMException('Another agent has taken over', 'AbortError');

interface LiveFlowOptions {
  readonly history: History;
  readonly toolbox: Toolbox;
  readonly transfer: Transfer | undefined;
}

/** Runs an agent live, and then the one that it hands over to: over a connection of its own, within the same run. */
export async function* runLive(agent: LiveAgent, ctx: InvocationContext, histories: Histories): AsyncGenerator<Event, void, undefined> {
  const next = yield* runAlone(agent, ctx, histories);
  if (next) yield* next.agent.runLive(next);
}

/** Runs one agent, with its history as it stands and its tools. Returns the place of the one that takes over. */
async function* runAlone(
  agent: LiveAgent,
  ctx: InvocationContext,
  histories: Histories,
): AsyncGenerator<Event, InvocationContext | undefined, undefined> {
  const {events} = ctx.run.session;
  const transfer = await liveTransferOf(ctx.agent);
  const toolbox = await listToolbox(ctx, transfer ? [...agent.tools, transfer.tool] : agent.tools);
  const history = histories.take(ctx.branch, events);
  try {
    return yield* new LiveFlow(agent, ctx, {history, toolbox, transfer}).run();
  } finally {
    histories.keep(history, events);
  }
}

/**
 * An agent's live run. What goes on with the connection does so ahead of the reader, who takes Events from an outbox; whatever ends it,
 * reader, run or connection, ends all of it.
 */
class LiveFlow {
  readonly #agent: LiveAgent;
  /** The agent's place in the run, and in this flow. */
  readonly #place: InvocationContext;
  readonly #ctx: InvocationContext;
  readonly #options: LiveFlowOptions;
  readonly #live: LiveScope;
  readonly #input: SharedInput;
  readonly #life: Lifetime;
  readonly #outbox: LiveOutbox;
  readonly #recorder: LiveRecorder | undefined;
  #failure: {error: unknown} | undefined;
  #handOver: HandOver | undefined;

  constructor(agent: LiveAgent, ctx: InvocationContext, options: LiveFlowOptions) {
    const {live, life, config} = ctx.run;
    if (!live) throw new InvalidOptionError('context', 'the context of a live run', ctx);
    this.#agent = agent;
    this.#place = ctx;
    this.#options = options;
    this.#live = live;
    const before = isHandedOver(live) ? live : undefined;
    this.#input = before?.input ?? new SharedInput(live.queue, life);
    this.#life = life.child();
    // Everything in it ends with the flow, not only with the run.
    this.#ctx = new InvocationContext({...ctx.run, life: this.#life}, ctx.agent, ctx.branch);
    const {run} = this.#ctx;
    const recorder = config.saveLiveBlob ? new LiveRecorder(run.services.artifactService, run, before?.heard ?? []) : undefined;
    this.#recorder = recorder;
    this.#outbox = new LiveOutbox({maxBytes: config.liveBufferBytes, store: live.store, recorder, onFailure: this.#lose});
    this.#life.onEnd(() => this.#letGo());
  }

  /** The Events, until the conversation is over. Returns the place of the agent that takes over. */
  async *run(): AsyncGenerator<Event, InvocationContext | undefined, undefined> {
    let conversation: LiveConversation | undefined;
    let holding: Promise<void> | undefined;
    try {
      const talk = (conversation = await this.#open());
      holding = this.#hold(talk);
      for (let event = await this.#outbox.take(); event; event = await this.#outbox.take()) yield event;
    } finally {
      this.#life.end(OVER);
      await holding;
      await conversation?.ended();
      await this.#outbox.stored();
      this.#life.close();
    }
    // A stop is no end of the agent's own: what is called at its end is called while the run closes.
    this.#place.run.life.throwIfEnded();
    if (this.#failure) throw this.#failure.error;
    if (!this.#handOver) return undefined;
    const {target, since} = this.#handOver;
    return placeOf(target, this.#place, {since, input: this.#input, heard: this.#recorder?.heard ?? []});
  }

  async #open(): Promise<LiveConversation> {
    const agent = this.#agent;
    const ctx = this.#ctx;
    const {history, transfer} = this.#options;
    const {toolbox, stopStreaming} = await withStopStreaming(this.#options.toolbox, agent.name);
    const handle = this.#live.resumptionHandle;
    const asked = isHandedOver(this.#live) ? takenOver(agent, ctx, this.#live.since) : undefined;
    const transferInstruction = transfer?.instruction;
    const request = await buildLiveRequest(agent, ctx, {history, toolbox, handle, transferInstruction, asked});
    this.#life.throwIfEnded();
    const told = {agent, ctx, history, toolbox, request, handle, asked};
    const conversation = new LiveConversation({
      ...told,
      input: this.#input,
      outbox: this.#outbox,
      recorder: this.#recorder,
      ungated: stopStreaming?.name,
      transferTool: transfer?.tool.name,
      handOver: this.#leaveTo,
      onFailure: this.#fail,
    });
    stopStreaming?.attach(conversation.calls);
    return conversation;
  }

  async #hold(conversation: LiveConversation): Promise<void> {
    try {
      await conversation.hold();
    } catch (error) {
      this.#fail(error);
    }
    if (this.#handOver) await conversation.handedOver();
    this.#outbox.close();
  }

  /** Ends all that goes on with the old agent, as a stop would, where the answer to its calls says that another one takes over. */
  readonly #leaveTo = (answer: Event): boolean => {
    const target = this.#options.transfer?.target(answer);
    if (!target) return false;
    this.#handOver = {target, since: answer.id};
    this.#life.end(HANDED_OVER);
    return true;
  };

  #letGo(): void {
    // What was said is still read, and what the user says is heard by another.
    if (this.#handOver) return;
    this.#input.close();
    // After a stop nothing more is told; after a failure first what there was.
    if (this.#failure) this.#outbox.close();
    else this.#outbox.discard();
  }

  readonly #fail = (error: unknown): void => {
    // After the end of the run its own reason counts, and what comes of it is no failure.
    if (!this.#life.ended) this.#lose(error);
  };

  /** What cannot be stored or shown counts also while the agent hands over. */
  readonly #lose = (error: unknown): void => {
    this.#failure ??= {error};
    this.#life.end(error);
  };
}
