import {InvocationContext} from '../agents/base-agent.ts';
import type {Histories} from '../agents/llm/histories.ts';
import type {History} from '../agents/llm/history.ts';
import {listToolbox, type Toolbox} from '../agents/llm/toolbox.ts';
import type {LiveScope} from '../agents/run-scope.ts';
import type {Lifetime} from '../async/lifetime.ts';
import {expectOption, InvalidOptionError} from '../errors.ts';
import type {Event} from '../events/event.ts';
import type {LiveAgent} from './live-agent.ts';
import {LiveConversation} from './live-conversation.ts';
import {LiveOutbox} from './live-outbox.ts';
import {LiveRecorder} from './live-recorder.ts';
import {buildLiveRequest} from './live-requests.ts';
import {withStopStreaming} from './stop-streaming.ts';

// Made once: an exception captures its stack.
const OVER = new DOMException('The live run is over', 'AbortError');

interface LiveFlowOptions {
  readonly history: History;
  readonly toolbox: Toolbox;
}

/** Runs an agent live, with its history as it stands and its tools. */
export async function* runLive(agent: LiveAgent, ctx: InvocationContext, histories: Histories): AsyncGenerator<Event, void, undefined> {
  const {events} = ctx.run.session;
  const toolbox = await listToolbox(ctx, agent.tools);
  const history = histories.take(ctx.branch, events);
  try {
    yield* new LiveFlow(agent, ctx, {history, toolbox}).run();
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
  readonly #ctx: InvocationContext;
  readonly #options: LiveFlowOptions;
  readonly #live: LiveScope;
  readonly #runLife: Lifetime;
  readonly #life: Lifetime;
  readonly #outbox: LiveOutbox;
  readonly #recorder: LiveRecorder | undefined;
  #failure: {error: unknown} | undefined;

  constructor(agent: LiveAgent, ctx: InvocationContext, options: LiveFlowOptions) {
    const {live, life, config} = ctx.run;
    if (!live) throw new InvalidOptionError('context', 'the context of a live run', ctx);
    const isQueue = typeof live.queue.close === 'function' && Symbol.asyncIterator in live.queue;
    expectOption(isQueue, 'request.liveRequestQueue', 'a LiveRequestQueue', live.queue);
    this.#agent = agent;
    this.#options = options;
    this.#live = live;
    this.#runLife = life;
    this.#life = life.child();
    // Everything in it ends with the flow, not only with the run.
    this.#ctx = new InvocationContext({...ctx.run, life: this.#life}, ctx.agent, ctx.branch);
    this.#recorder = config.saveLiveBlob ? new LiveRecorder(this.#ctx.run.services.artifactService, this.#ctx.run) : undefined;
    const recorder = this.#recorder;
    this.#outbox = new LiveOutbox({maxBytes: config.liveBufferBytes, store: live.store, recorder, onFailure: this.#fail});
    this.#life.onEnd(() => this.#letGo());
  }

  /** The Events, until the conversation is over. */
  async *run(): AsyncGenerator<Event, void, undefined> {
    let conversation: LiveConversation | undefined;
    let holding: Promise<void> | undefined;
    try {
      const talk = (conversation = await this.#open());
      holding = talk.hold().then(() => this.#outbox.close(), this.#fail);
      for (let event = await this.#outbox.take(); event; event = await this.#outbox.take()) yield event;
    } finally {
      this.#life.end(OVER);
      await holding;
      await conversation?.ended();
      await this.#outbox.stored();
      this.#life.close();
    }
    // A stop is no end of the agent's own: what is called at its end is called while the run closes.
    this.#runLife.throwIfEnded();
    if (this.#failure) throw this.#failure.error;
  }

  async #open(): Promise<LiveConversation> {
    const agent = this.#agent;
    const ctx = this.#ctx;
    const {toolbox, stopStreaming} = await withStopStreaming(this.#options.toolbox, agent.name);
    const {history} = this.#options;
    const request = await buildLiveRequest(agent, ctx, {history, toolbox, handle: this.#live.resumptionHandle});
    this.#life.throwIfEnded();
    const shared = {live: this.#live, outbox: this.#outbox, recorder: this.#recorder, onFailure: this.#fail};
    const conversation = new LiveConversation({agent, ctx, history, toolbox, request, ungated: stopStreaming?.name, ...shared});
    stopStreaming?.attach(conversation.calls);
    return conversation;
  }

  #letGo(): void {
    this.#live.queue.close();
    // After a stop nothing more is told; after a failure first what there was.
    if (this.#failure) this.#outbox.close();
    else this.#outbox.discard();
  }

  readonly #fail = (error: unknown): void => {
    // After the end of the run its own reason counts, and what comes of it is no failure.
    if (this.#life.ended) return;
    this.#failure = {error};
    this.#life.end(error);
  };
}
