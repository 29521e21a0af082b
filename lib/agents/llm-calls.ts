import type {UsageMetadata} from '../content.ts';
import {LlmCallsLimitExceededError} from '../errors.ts';

/** Counts a run's model calls, over its whole agent tree, and what they used. */
export class LlmCalls {
  readonly #max: number;
  #count = 0;
  #usage: UsageMetadata | undefined;

  constructor(maxLlmCalls: number) {
    this.#max = maxLlmCalls > 0 ? maxLlmCalls : Infinity;
  }

  get count(): number {
    return this.#count;
  }

  /** The sum over all calls; `undefined` where no call told. */
  get usage(): UsageMetadata | undefined {
    return this.#usage;
  }

  /** @throws {@link LlmCallsLimitExceededError} where no call is left */
  take(): void {
    if (this.#count >= this.#max) throw new LlmCallsLimitExceededError(this.#max);
    this.#count++;
  }

  /** Counts calls that an earlier attempt at this run made. */
  replay(count: number, usage: UsageMetadata | undefined): void {
    this.#count += count;
    this.use(usage);
  }

  /** Adds what one call used: every number of its usage, at any depth one. */
  use(usage: UsageMetadata | undefined): void {
    if (!usage) return;
    const sum: Record<string, unknown> = {...this.#usage};
    for (const [key, value] of Object.entries(usage)) {
      if (typeof value === 'number') sum[key] = ((sum[key] as number | undefined) ?? 0) + value;
    }
    this.#usage = sum as UsageMetadata;
  }
}
