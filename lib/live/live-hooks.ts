import type {InvocationContext} from '../agents/base-agent.ts';
import type {LlmAgentSettings} from '../agents/llm/llm-agent-config.ts';
import {ModelHooks} from '../agents/llm/model-hooks.ts';
import type {Toolbox} from '../agents/llm/toolbox.ts';
import {createEventActions, type EventActions} from '../events/event-actions.ts';
import type {LlmRequest} from '../models/llm-request.ts';
import type {LlmResponse} from '../models/llm-response.ts';
import {givenFields} from './given-fields.ts';

export interface LiveHooksOptions {
  readonly agent: LlmAgentSettings;
  readonly ctx: InvocationContext;
  readonly toolbox: Toolbox;
  readonly request: LlmRequest;
  readonly onFailure: (error: unknown) => void;
}

/** The user's code around a live model: called as around any other, in the order of what it brings, and never holding up the connection. */
export class LiveHooks {
  readonly #options: LiveHooksOptions;
  #actions: EventActions = createEventActions();
  #hooks: ModelHooks;
  #reviewing: Promise<void> = Promise.resolve();
  #reviews = 0;

  constructor(options: LiveHooksOptions) {
    this.#options = options;
    this.#hooks = this.#newHooks();
  }

  /** Whether responses are still being reviewed. */
  get isBusy(): boolean {
    return this.#reviews > 0;
  }

  /** Lets tools and hooks shape the request; a hook may answer instead of the model. */
  prepare(): Promise<LlmResponse | undefined> {
    return this.#hooks.prepare();
  }

  /** Hands on what the hooks make of a response, after those before it. */
  review(response: LlmResponse, take: (response: LlmResponse) => void): void {
    const {agent, onFailure} = this.#options;
    if (agent.afterModelCallback.length === 0) {
      take(response);
      return;
    }
    this.#reviews++;
    this.#reviewing = this.#reviewing
      .then(async () => {
        const reviewed = await this.#hooks.review(response);
        this.#reviews--;
        take(reviewed === response ? response : {...givenFields(response, SIGNALS), ...reviewed});
      })
      .catch(onFailure);
  }

  /** Resolves when every response was reviewed. */
  reviewed(): Promise<void> {
    return this.#reviewing;
  }

  /** The model has failed for good: the hooks may answer, or it stays so. */
  recover(error: unknown): Promise<LlmResponse> {
    return this.#hooks.recover(error, this.#options.ctx.run.life);
  }

  /** What the hooks have written since the last time, for the Event that is made now. Their context ends with it. */
  takeActions(): EventActions {
    const actions = this.#actions;
    this.#hooks.end();
    this.#actions = createEventActions();
    this.#hooks = this.#newHooks();
    return actions;
  }

  #newHooks(): ModelHooks {
    return new ModelHooks({...this.#options, actions: this.#actions});
  }
}

/** What the run itself goes by. A hook that only gives another content has not taken it back. */
const SIGNALS = [
  'turnComplete',
  'interrupted',
  'generationComplete',
  'toolCallCancellation',
  'goAway',
  'liveSessionResumptionUpdate',
  'liveSessionId',
  'usageMetadata',
] as const;
