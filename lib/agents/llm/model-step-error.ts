import type {UsageMetadata} from '../../content.ts';
import type {LlmResponse} from '../../models/llm-response.ts';

/** What the calls of one model step took. */
export interface Spent {
  readonly llmCalls: number;
  readonly usage: UsageMetadata | undefined;
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
