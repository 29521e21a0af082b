import type {UsageMetadata} from '../../content.ts';
import type {EventActions} from '../../events/event-actions.ts';
import type {LlmResponse} from '../../models/llm-response.ts';

/** What the calls of one model step took. */
export interface Spent {
  readonly llmCalls: number;
  readonly usage: UsageMetadata | undefined;
}

export const NOTHING_SPENT: Spent = {llmCalls: 0, usage: undefined};

/** What one model step comes to: plain JSON. */
export interface ModelReply extends Spent {
  readonly response: LlmResponse;
  readonly actions: EventActions;
}

/** How one model step fails: with `cause`, and what a replay has to know besides. */
export class ModelStepError extends Error {
  readonly spent: Spent;
  /** What of the reply there was. */
  readonly cut: LlmResponse | undefined;

  constructor(cause: unknown, spent: Spent, cut: LlmResponse | undefined) {
    super('The model step failed', {cause});
    this.spent = spent;
    this.cut = cut;
  }
}
