import type {Content, UsageMetadata} from '../../content.ts';
import {describe, ModelError} from '../../errors.ts';
import {createEventActions, type EventActions} from '../../events/event-actions.ts';
import type {Event} from '../../events/event.ts';
import type {LlmRequest} from '../../models/llm-request.ts';
import type {LlmResponse} from '../../models/llm-response.ts';
import {frozenCopy} from '../../schema/json-copy.ts';
import type {InvocationContext} from '../base-agent.ts';
import type {Closing, Unfinished} from '../open-work.ts';
import {StreamingMode} from '../run-config.ts';
import type {LlmAgentSettings} from './llm-agent-config.ts';
import {ModelHooks} from './model-hooks.ts';
import {CallIds, completeReply, countCalls, isWorthAsking, joinWhole, PartialReply} from './model-reply.ts';
import type {Toolbox} from './toolbox.ts';

/** How often a malformed or empty reply is asked again. */
const MAX_REPEATS = 2;

// Made once: an exception captures its stack, which costs more than the rest of a step.
const CALL_OVER = new DOMException('The model call is over', 'AbortError');

/** A partial Event does nothing; one record says so for all of them. */
const NO_ACTIONS: EventActions = frozenCopy(createEventActions());

export interface ModelTurn {
  readonly request: LlmRequest;
  readonly toolbox: Toolbox;
  /** Whether a call of the session has this id already. */
  readonly isTaken: (id: string) => boolean;
}

/** What one model step comes to: plain JSON. */
export interface ModelReply {
  readonly response: LlmResponse;
  readonly actions: EventActions;
  readonly llmCalls: number;
  readonly usage: UsageMetadata | undefined;
}

/**
 * One model step: the hooks, the call, and again where the reply cannot be used. `run` yields partial Events; `finish` makes the whole one.
 */
export class ModelStep implements Unfinished {
  readonly #agent: LlmAgentSettings;
  readonly #ctx: InvocationContext;
  readonly #turn: ModelTurn;
  readonly #eventId: string;
  readonly #actions: EventActions = createEventActions();
  readonly #forget: () => void;
  readonly #hooks: ModelHooks;
  #ids: CallIds | undefined;
  #partial: PartialReply | undefined;
  #callsShown = 0;
  #whole: LlmResponse | undefined;
  /** Of the call that is under way, until it is counted. */
  #usage: UsageMetadata | undefined;
  #lastUsage: UsageMetadata | undefined;
  #modelVersion: string | undefined;
  /** Whether this attempt at the run really called, and was not told by a record. */
  #ran = false;

  constructor(agent: LlmAgentSettings, ctx: InvocationContext, turn: ModelTurn, eventId: string) {
    this.#agent = agent;
    this.#ctx = ctx;
    this.#turn = turn;
    this.#eventId = eventId;
    this.#hooks = new ModelHooks({agent, ctx, request: turn.request, toolbox: turn.toolbox, actions: this.#actions});
    this.#forget = ctx.run.open.add(this);
  }

  async *run(): AsyncGenerator<Event, ModelReply, undefined> {
    const {llmCalls} = this.#ctx.run;
    const before = llmCalls.count;
    this.#ran = true;
    let reply = await this.#hooks.prepare();
    for (let repeats = 0; !reply; repeats++) {
      // The stop may have come since the step began, also without anything in between that waits for it.
      this.#ctx.run.life.throwIfEnded();
      const life = this.#ctx.run.life.child();
      const leave = this.#startCall();
      try {
        const {canonicalModel} = this.#agent;
        const stream = this.#ctx.run.config.streamingMode === StreamingMode.SSE;
        for await (const response of canonicalModel.generateContentAsync(this.#turn.request, stream, life.signal)) {
          life.throwIfEnded();
          this.#note(response);
          const reviewed = this.#hooks.review(response);
          const event = this.#take(reviewed instanceof Promise ? await reviewed : reviewed);
          if (event) yield event;
        }
        reply = usable(this.#wholeReply(), repeats);
      } catch (error) {
        reply = await this.#hooks.recover(error, life);
      } finally {
        leave();
        this.#endCall();
        // Ends the model's request also where nothing else would: leaving a generator does not close the socket behind it.
        life.end(CALL_OVER);
      }
    }
    this.#hooks.end();
    const response = completeReply(reply);
    if (response.content) response.content = this.#named(response.content, 0);
    return {response, actions: this.#actions, llmCalls: llmCalls.count - before, usage: response.usageMetadata};
  }

  /** The whole Event. From here on a stop leaves nothing to close. */
  finish({response, actions, llmCalls, usage}: ModelReply, timestamp: number): Event {
    if (!this.#ran) this.#ctx.run.llmCalls.replay(llmCalls, usage);
    this.#forget();
    return this.#event(response, actions, timestamp);
  }

  /** What stays of a reply that was cut: its text, without calls, and what it used. */
  async close({steps}: Closing): Promise<Event[]> {
    this.#hooks.end();
    const usageMetadata = this.#lastUsage;
    this.#endCall();
    const partial = this.#whole ? new PartialReply() : this.#partial;
    if (this.#whole) partial?.add(this.#whole);
    if (!partial?.parts.length) return [];
    const cut: LlmResponse = {content: {role: 'model', parts: [...partial.parts]}, customMetadata: {stopped: true}};
    if (usageMetadata) cut.usageMetadata = usageMetadata;
    if (this.#modelVersion) cut.modelVersion = this.#modelVersion;
    return [this.#event(cut, createEventActions(), await steps.now())];
  }

  #startCall(): () => void {
    const {run} = this.#ctx;
    run.llmCalls.take();
    this.#partial = undefined;
    this.#whole = undefined;
    this.#callsShown = 0;
    this.#ids = undefined;
    return run.open.enter({name: `model ${this.#agent.canonicalModel.model}`});
  }

  /** Keeps a response for the end of the call; the Event to show of it where it is partial. */
  #take(response: LlmResponse): Event | undefined {
    this.#note(response);
    if (!response.partial) {
      this.#whole = joinWhole(this.#whole, response);
      return undefined;
    }
    (this.#partial ??= new PartialReply()).add(response);
    const event = this.#event(response, NO_ACTIONS, Date.now());
    if (event.content) {
      const content = this.#named(event.content, this.#callsShown);
      this.#callsShown += countCalls(content);
      event.content = content.role ? content : {...content, role: 'model'};
    }
    return event;
  }

  /** The content with ids on its calls, of which the first is the reply's `from`-th. */
  #named(content: Content, from: number): Content {
    if (!content.parts?.some((part) => part.functionCall)) return content;
    return (this.#ids ??= new CallIds(this.#turn.isTaken)).assign(content, from);
  }

  #note(response: LlmResponse): void {
    if (typeof response !== 'object' || response === null) {
      throw new ModelError(`The model gave ${describe(response)}, not an LlmResponse`, {code: 'INVALID_RESPONSE'});
    }
    const {usageMetadata, modelVersion} = response;
    if (usageMetadata) this.#usage = this.#lastUsage = usageMetadata;
    if (modelVersion) this.#modelVersion = modelVersion;
  }

  #wholeReply(): LlmResponse {
    if (!this.#whole) throw new ModelError('The model ended without a whole response', {code: 'NO_RESPONSE'});
    return this.#whole;
  }

  #endCall(): void {
    this.#ctx.run.llmCalls.use(this.#usage);
    this.#usage = undefined;
  }

  /** The Event of a reply, partial or whole. Both carry one id: a partial Event is a piece of the whole one. */
  #event(response: LlmResponse, actions: EventActions, timestamp: number): Event {
    const {invocationId, branch} = this.#ctx;
    const event: Event = {id: this.#eventId, invocationId, author: this.#agent.name, timestamp, actions, ...response};
    if (branch !== undefined) event.branch = branch;
    return event;
  }
}

/** The reply, unless asking again may help: then nothing, as long as it has not been asked too often. */
function usable(response: LlmResponse, repeats: number): LlmResponse | undefined {
  const reply = completeReply(response);
  if (!isWorthAsking(reply)) return reply;
  if (repeats < MAX_REPEATS) return undefined;
  if (reply.errorCode !== undefined) return reply;
  return {...reply, errorCode: 'MODEL_RETURNED_NO_CONTENT', errorMessage: `The model replied without content ${repeats + 1} times`};
}
