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

  /** Adds what one call used. */
  use(usage: UsageMetadata | undefined): void {
    this.#usage = addUsage(this.#usage, usage);
  }
}

/** The sum of two usages: of every number that stands in one of them, at depth one. */
export function addUsage(sum: UsageMetadata | undefined, usage: UsageMetadata | undefined): UsageMetadata | undefined {
  if (!usage) return sum;
  const added: Record<string, unknown> = {...sum};
  for (const [key, value] of Object.entries(usage)) {
    if (typeof value === 'number') added[key] = ((added[key] as number | undefined) ?? 0) + value;
  }
  return added;
}
