import type {UsageMetadata} from '../../content.ts';
import type {Context} from '../../context/context.ts';
import {HookError, messageOf, ModelError} from '../../errors.ts';
import {createEventActions, type EventActions} from '../../events/event-actions.ts';
import type {Event} from '../../events/event.ts';
import type {LlmRequest} from '../../models/llm-request.ts';
import type {LlmResponse} from '../../models/llm-response.ts';
import type {InvocationContext} from '../base-agent.ts';
import {callbackContext, firstResult} from '../callbacks.ts';
import type {Closing} from '../open-work.ts';
import {StreamingMode} from '../run-config.ts';
import type {LlmAgentSettings} from './llm-agent-config.ts';
import {CallIds, completeReply, isWorthAsking, joinPartials, joinWhole} from './model-reply.ts';
import type {Toolbox} from './toolbox.ts';

/** How often a malformed or empty reply is asked again. */
const MAX_REPEATS = 2;

export interface ModelTurn {
  readonly request: LlmRequest;
  readonly toolbox: Toolbox;
  /** Whether a call of the session has this id already. */
  readonly isTaken: (id: string) => boolean;
}

/** What one model step comes to: plain JSON. */
interface ModelReply {
  readonly response: LlmResponse;
  readonly actions: EventActions;
  readonly llmCalls: number;
  readonly usage: UsageMetadata | undefined;
}

/**
 * One model step: the hooks, the call, and again where the reply cannot be used. Yields partial Events, returns the whole one, not yet
 * yielded.
 */
export async function* callModel(agent: LlmAgentSettings, ctx: InvocationContext, turn: ModelTurn): AsyncGenerator<Event, Event, undefined> {
  const {steps, llmCalls, open} = ctx.run;
  const step = new ModelStep(agent, ctx, turn, await steps.uuid());
  const close = open.add(step);
  const {response, actions, ...counts} = yield* steps.stream(`model of ${agent.name}`, () => step.run());
  if (!step.ran) llmCalls.replay(counts.llmCalls, counts.usage);
  const event = step.event(response, actions, await steps.now());
  close();
  return event;
}

class ModelStep {
  /** Whether this attempt really called, and was not told by a record. */
  ran = false;
  readonly #agent: LlmAgentSettings;
  readonly #ctx: InvocationContext;
  readonly #turn: ModelTurn;
  readonly #eventId: string;
  readonly #context: Context;
  readonly #actions: EventActions;
  #ids: CallIds;
  #partials: LlmResponse[] = [];
  #callsShown = 0;
  #whole: LlmResponse | undefined;
  #usage: UsageMetadata | undefined;

  constructor(agent: LlmAgentSettings, ctx: InvocationContext, turn: ModelTurn, eventId: string) {
    this.#agent = agent;
    this.#ctx = ctx;
    this.#turn = turn;
    this.#eventId = eventId;
    this.#ids = new CallIds(turn.isTaken);
    ({context: this.#context, actions: this.#actions} = callbackContext(ctx, {abortSignal: ctx.abortSignal}));
  }

  async *run(): AsyncGenerator<Event, ModelReply, undefined> {
    this.ran = true;
    const {llmCalls} = this.#ctx.run;
    const before = llmCalls.count;
    const response = (await this.#prepare()) ?? (yield* this.#ask());
    this.#context.revoke();
    const reply = completeReply(response);
    if (reply.content) reply.content = this.#ids.assign(reply.content, 0);
    return {response: reply, actions: this.#actions, llmCalls: llmCalls.count - before, usage: reply.usageMetadata};
  }

  /** The Event of a reply, partial or whole. Both carry one id: a partial Event is a piece of the whole one. */
  event(response: LlmResponse, actions: EventActions, timestamp: number): Event {
    const event: Event = {
      ...response,
      id: this.#eventId,
      invocationId: this.#ctx.invocationId,
      author: this.#agent.name,
      timestamp,
      actions,
    };
    if (this.#ctx.branch !== undefined) event.branch = this.#ctx.branch;
    return event;
  }

  /** What stays of a reply that was cut: its text, without calls, and what it used. */
  async close({steps}: Closing): Promise<Event[]> {
    this.#context.revoke();
    this.#endCall();
    const parts = joinPartials(this.#whole ? [this.#whole] : this.#partials);
    if (parts.length === 0) return [];
    const {usageMetadata, modelVersion} = this.#whole ?? Object.assign({}, ...this.#partials);
    const cut: LlmResponse = {content: {role: 'model', parts}, customMetadata: {stopped: true}};
    if (usageMetadata) cut.usageMetadata = usageMetadata;
    if (modelVersion) cut.modelVersion = modelVersion;
    return [this.event(cut, createEventActions(), await steps.now())];
  }

  /** Lets tools and hooks shape the request; a hook may answer instead of the model. */
  async #prepare(): Promise<LlmResponse | undefined> {
    const {request, toolbox} = this.#turn;
    for (const tool of this.#agent.shapesRequests ? await toolbox.load() : []) {
      await tool.processLlmRequest({toolContext: this.#context, llmRequest: request});
    }
    const hooks = this.#agent.beforeModelCallback;
    return firstResult('beforeModelCallback', this.#ctx, hooks, (hook) => hook({context: this.#context, request}), this.#context);
  }

  async *#ask(): AsyncGenerator<Event, LlmResponse, undefined> {
    for (let repeats = 0; ; repeats++) {
      const reply = completeReply(yield* this.#call());
      if (!isWorthAsking(reply)) return reply;
      if (repeats < MAX_REPEATS) continue;
      if (reply.errorCode !== undefined) return reply;
      return {...reply, errorCode: 'MODEL_RETURNED_NO_CONTENT', errorMessage: `The model replied without content ${repeats + 1} times`};
    }
  }

  async *#call(): AsyncGenerator<Event, LlmResponse, undefined> {
    const {run} = this.#ctx;
    this.#partials = [];
    this.#whole = undefined;
    this.#callsShown = 0;
    this.#ids = new CallIds(this.#turn.isTaken);
    run.llmCalls.take();
    const life = run.life.child();
    const leave = run.open.enter({name: `model ${this.#agent.canonicalModel.model}`});
    try {
      const stream = run.config.streamingMode === StreamingMode.SSE;
      for await (const response of this.#agent.canonicalModel.generateContentAsync(this.#turn.request, stream, life.signal)) {
        life.signal.throwIfAborted();
        if (response.usageMetadata) this.#usage = response.usageMetadata;
        const event = this.#take(this.#agent.afterModelCallback.length > 0 ? await this.#reviewed(response) : response);
        if (event) yield event;
      }
      life.signal.throwIfAborted();
      if (!this.#whole) throw new ModelError('The model ended without a whole response', {code: 'NO_RESPONSE'});
      return this.#whole;
    } catch (error) {
      return await this.#recover(error, life.signal);
    } finally {
      leave();
      this.#endCall();
      // Ends the model's request also where nothing else would: leaving a generator does not close the socket behind it.
      life.end(new DOMException('The model call is over', 'AbortError'));
    }
  }

  /** What the hooks make of a response, partial or whole. */
  async #reviewed(response: LlmResponse): Promise<LlmResponse> {
    const hooks = this.#agent.afterModelCallback;
    const context = this.#context;
    return (await firstResult('afterModelCallback', this.#ctx, hooks, (hook) => hook({context, response}), context)) ?? response;
  }

  /** Keeps a response for the end of the call; the Event to show of it where it is partial. */
  #take(response: LlmResponse): Event | undefined {
    if (!response.partial) {
      this.#whole = joinWhole(this.#whole, response);
      return undefined;
    }
    this.#partials.push(response);
    return this.#partialEvent(response);
  }

  #partialEvent(response: LlmResponse): Event {
    const event = this.event(response, createEventActions(), Date.now());
    if (!response.content) return event;
    const content = this.#ids.assign(response.content, this.#callsShown);
    this.#callsShown += content.parts?.filter((part) => part.functionCall).length ?? 0;
    event.content = content.role ? content : {...content, role: 'model'};
    return event;
  }

  /** A failed call: nothing to recover where the run is over or a hook failed, else the hooks may answer. */
  async #recover(error: unknown, signal: AbortSignal): Promise<LlmResponse> {
    if (signal.aborted) throw signal.reason;
    if (error instanceof HookError) throw error;
    const failure = error instanceof ModelError ? error : wrap(error);
    const {request} = this.#turn;
    const hooks = this.#agent.onModelErrorCallback;
    const answer = await firstResult(
      'onModelErrorCallback',
      this.#ctx,
      hooks,
      (hook) => hook({context: this.#context, request, error: failure}),
      this.#context,
    );
    if (!answer) throw failure;
    return answer;
  }

  #endCall(): void {
    this.#ctx.run.llmCalls.use(this.#usage);
    this.#usage = undefined;
  }
}

function wrap(error: unknown): ModelError {
  return new ModelError(messageOf(error), {code: 'MODEL_FAILED', cause: error});
}
