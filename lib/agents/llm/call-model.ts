import type {Lifetime} from '../../async/lifetime.ts';
import type {Content, UsageMetadata} from '../../content.ts';
import {describe, ModelError} from '../../errors.ts';
import {createEventActions, NO_ACTIONS, type EventActions} from '../../events/event-actions.ts';
import type {Event} from '../../events/event.ts';
import type {LlmRequest} from '../../models/llm-request.ts';
import type {LlmResponse} from '../../models/llm-response.ts';
import type {InvocationContext} from '../base-agent.ts';
import {addUsage} from '../llm-calls.ts';
import type {Closing, Unfinished} from '../open-work.ts';
import {StreamingMode} from '../run-config.ts';
import type {LlmAgentSettings} from './llm-agent-config.ts';
import {loadModelHooks, recover} from './load-model-hooks.ts';
import {ModelCall} from './model-call.ts';
import type {ModelHooks} from './model-hooks.ts';
import {CallIds, completeReply, countCalls, isResponse, joinWhole, PartialReply, usableReply} from './model-reply.ts';
import {ModelStepError, NOTHING_SPENT, type ModelReply, type Spent} from './model-step-record.ts';
import type {Toolbox} from './toolbox.ts';

// Made once: an exception captures its stack, which costs more than the rest of a step.
const CALL_OVER = new DOMException('The model call is over', 'AbortError');

export interface ModelTurn {
  readonly request: LlmRequest;
  readonly toolbox: Toolbox;
  /** Whether a call of the session has this id already. */
  readonly isTaken: (id: string) => boolean;
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
  #hooks: ModelHooks | undefined;
  #ids: CallIds | undefined;
  #partial: PartialReply | undefined;
  #callsShown = 0;
  #whole: LlmResponse | undefined;
  /** Of the call that is under way, until it is counted. */
  #usage: UsageMetadata | undefined;
  #lastUsage: UsageMetadata | undefined;
  #spent: Spent = NOTHING_SPENT;
  #recalled: LlmResponse | undefined;
  #modelVersion: string | undefined;
  /** Whether this attempt at the run really called, and was not told by a record. */
  #ran = false;

  constructor(agent: LlmAgentSettings, ctx: InvocationContext, turn: ModelTurn, eventId: string) {
    this.#agent = agent;
    this.#ctx = ctx;
    this.#turn = turn;
    this.#eventId = eventId;
    this.#forget = ctx.run.open.add(this);
  }

  async *run(): AsyncGenerator<Event, ModelReply, undefined> {
    this.#ran = true;
    try {
      this.#hooks = await loadModelHooks({...this.#turn, agent: this.#agent, ctx: this.#ctx, actions: this.#actions});
      let reply = await this.#hooks?.prepare();
      for (let repeats = 0; !reply; repeats++) {
        // The stop may have come since the step began, also without anything in between that waits for it.
        this.#ctx.run.life.throwIfEnded();
        const life = this.#ctx.run.life.child();
        const call = this.#startCall(life);
        try {
          for (let next = await call.next(); !next.done; next = await call.next()) {
            life.throwIfEnded();
            this.#note(next.value);
            const reviewed = this.#hooks?.review(next.value) ?? next.value;
            const event = this.#take(reviewed instanceof Promise ? await reviewed : reviewed);
            if (event) yield event;
          }
          reply = usableReply(this.#wholeReply(), repeats);
        } catch (error) {
          reply = await recover(this.#hooks, error, life);
        } finally {
          this.#endCall();
          // Not by leaving a `for await`: that waits for the model to let go before it has been told to. The signal comes first; it also
          // closes the socket behind a generator, which leaving that does not.
          life.end(CALL_OVER);
          await call.end();
        }
      }
      this.#hooks?.end();
      const response = completeReply(reply);
      if (response.content) response.content = this.#named(response.content, 0);
      return {response, actions: this.#actions, ...this.#spent};
    } catch (error) {
      // A stop is never replayed.
      throw this.#ctx.run.life.ended ? error : new ModelStepError(error, this.#spent, this.#cut());
    }
  }

  /** The whole Event. From here on a stop leaves nothing to close. */
  finish({response, actions, llmCalls, usage}: ModelReply, timestamp: number): Event {
    if (!this.#ran) this.#ctx.run.llmCalls.replay(llmCalls, usage);
    this.#forget();
    return this.#event(response, actions, timestamp);
  }

  /** What `run` failed with, given what it threw. What there was of a reply stays, for `close`. */
  failed(error: unknown): unknown {
    if (!(error instanceof ModelStepError)) return error;
    this.#recalled = error.cut;
    if (!this.#ran) this.#ctx.run.llmCalls.replay(error.spent.llmCalls, error.spent.usage);
    return error.cause;
  }

  /** What stays of a reply that was cut: its text, without calls, and what it used. */
  async close({steps}: Closing): Promise<Event[]> {
    this.#hooks?.end();
    this.#endCall();
    const cut = this.#recalled ?? this.#cut();
    return cut ? [this.#event(cut, createEventActions(), await steps.now())] : [];
  }

  #cut(): LlmResponse | undefined {
    const partial = this.#whole ? new PartialReply() : this.#partial;
    if (this.#whole) partial?.add(this.#whole);
    if (!partial?.parts.length) return undefined;
    const cut: LlmResponse = {content: {role: 'model', parts: [...partial.parts]}, customMetadata: {stopped: true}};
    if (this.#lastUsage) cut.usageMetadata = this.#lastUsage;
    if (this.#modelVersion) cut.modelVersion = this.#modelVersion;
    return cut;
  }

  #startCall(life: Lifetime): ModelCall {
    const {run} = this.#ctx;
    run.llmCalls.take();
    this.#spent = {...this.#spent, llmCalls: this.#spent.llmCalls + 1};
    this.#partial = undefined;
    this.#whole = undefined;
    this.#callsShown = 0;
    this.#ids = undefined;
    const stream = run.config.streamingMode === StreamingMode.SSE;
    return new ModelCall(run, this.#agent.canonicalModel.model, () =>
      this.#agent.canonicalModel.generateContentAsync(this.#turn.request, stream, life.signal),
    );
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
    if (!isResponse(response)) throw new ModelError(`The model gave ${describe(response)}, not an LlmResponse`, {code: 'INVALID_RESPONSE'});
    const {usageMetadata, modelVersion} = response;
    if (usageMetadata) this.#usage = this.#lastUsage = usageMetadata;
    if (modelVersion) this.#modelVersion = modelVersion;
  }

  #wholeReply(): LlmResponse {
    if (!this.#whole) throw new ModelError('The model ended without a whole response', {code: 'NO_RESPONSE'});
    return this.#whole;
  }

  #endCall(): void {
    if (!this.#usage) return;
    this.#ctx.run.llmCalls.use(this.#usage);
    this.#spent = {...this.#spent, usage: addUsage(this.#spent.usage, this.#usage)};
    this.#usage = undefined;
  }

  /** The Event of a reply, partial or whole. Both carry one id: a partial Event is a piece of the whole one. */
  #event(response: LlmResponse, actions: EventActions, timestamp: number): Event {
    const {invocationId, branch} = this.#ctx;
    const event: Event = {...response, id: this.#eventId, invocationId, author: this.#agent.name, timestamp, actions};
    if (branch !== undefined) event.branch = branch;
    return event;
  }
}
