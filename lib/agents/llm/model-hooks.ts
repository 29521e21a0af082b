import type {Lifetime} from '../../async/lifetime.ts';
import {Context} from '../../context/context.ts';
import {expectOption, HookError} from '../../errors.ts';
import type {EventActions} from '../../events/event-actions.ts';
import type {LlmRequest} from '../../models/llm-request.ts';
import type {LlmResponse} from '../../models/llm-response.ts';
import type {InvocationContext} from '../base-agent.ts';
import {firstResult} from '../callbacks.ts';
import type {LlmAgentSettings} from './llm-agent-config.ts';
import {asModelError} from './model-call.ts';
import {isResponse} from './model-reply.ts';
import type {Toolbox} from './toolbox.ts';

export interface ModelHooksOptions {
  readonly agent: LlmAgentSettings;
  readonly ctx: InvocationContext;
  readonly request: LlmRequest;
  readonly toolbox: Toolbox;
  /** Takes what the hooks write. */
  readonly actions: EventActions;
}

/** The user's code around one model step. All of it gets one context, which ends with the step. */
export class ModelHooks {
  readonly #options: ModelHooksOptions;
  #made: Context | undefined;

  constructor(options: ModelHooksOptions) {
    this.#options = options;
  }

  /** Lets tools and hooks shape the request; a hook may answer instead of the model. */
  async prepare(): Promise<LlmResponse | undefined> {
    const {agent, ctx, request, toolbox} = this.#options;
    for (const tool of toolbox.shapesRequests ? await toolbox.list() : []) {
      const shape = (): Promise<undefined> =>
        tool.processLlmRequest({toolContext: this.#context, llmRequest: request}).then(() => undefined);
      await firstResult('processLlmRequest', ctx, [shape], shape, this.#context);
    }
    if (agent.beforeModelCallback.length === 0) return undefined;
    const context = this.#context;
    return firstResult(
      'beforeModelCallback',
      ctx,
      agent.beforeModelCallback,
      (hook) => answerOf('beforeModelCallback', hook({context, request})),
      context,
    );
  }

  /** What the hooks make of a response, partial or whole. */
  review(response: LlmResponse): LlmResponse | Promise<LlmResponse> {
    const {agent, ctx} = this.#options;
    if (agent.afterModelCallback.length === 0) return response;
    const context = this.#context;
    return firstResult(
      'afterModelCallback',
      ctx,
      agent.afterModelCallback,
      (hook) => answerOf('afterModelCallback', hook({context, response})),
      context,
    ).then((it) => it ?? response);
  }

  /** A failed call: nothing to recover where the run is over or a hook failed, else the hooks may answer. */
  async recover(thrown: unknown, life: Lifetime): Promise<LlmResponse> {
    const {agent, ctx, request} = this.#options;
    life.throwIfEnded();
    if (thrown instanceof HookError) throw thrown;
    const error = asModelError(thrown);
    if (agent.onModelErrorCallback.length === 0) throw error;
    const context = this.#context;
    const answer = await firstResult(
      'onModelErrorCallback',
      ctx,
      agent.onModelErrorCallback,
      (hook) => answerOf('onModelErrorCallback', hook({context, request, error})),
      context,
    );
    if (!answer) throw error;
    return answer;
  }

  /** The step is over: whoever still holds the context can no longer read or write. */
  end(): void {
    this.#made?.revoke();
  }

  /** Made for the first that needs it. */
  get #context(): Context {
    const {ctx, actions} = this.#options;
    return (this.#made ??= new Context({source: ctx.source, actions, life: ctx.run.life}));
  }
}

type Answer = LlmResponse | undefined | void;

/** What a hook answered, checked. Only what is shown of a stream may be partial. */
async function answerOf(hook: string, answered: Answer | Promise<Answer>): Promise<LlmResponse | undefined> {
  const answer = (await answered) ?? undefined;
  if (answer === undefined) return undefined;
  const isWhole = hook === 'afterModelCallback' || !answer.partial;
  const expected = 'an LlmResponse, {content: {parts: [...]}}, that is whole';
  expectOption(isResponse(answer) && !('parts' in answer) && isWhole, `the response of ${hook}`, expected, answer);
  return answer;
}
