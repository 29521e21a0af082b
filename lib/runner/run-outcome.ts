import type {UsageMetadata} from '../content.ts';

/** How a run ended. */
export type RunKind =
  /** The agent finished, with or without a usable reply (`errorCode`). */
  | 'done'
  /** The agent waits for an answer that comes with a later run. */
  | 'waiting'
  /** `abortSignal` fired, or `throw`, `runner.cancel` or `runner.close` ended it. */
  | 'abort'
  /** The reader left. */
  | 'return'
  /** `runConfig.timeoutMs` passed. */
  | 'timeout'
  /** `runConfig.maxLlmCalls` was reached. */
  | 'limit'
  /** Something failed. */
  | 'error';

/** What `run.settled` resolves to once the run has truly ended. */
export interface RunOutcome {
  readonly kind: RunKind;
  /** What `next()` rejected with, or would have. */
  readonly reason?: unknown;
  /** Why the last reply had no usable content. */
  readonly errorCode?: string;
  /** Summed over all model calls, cut ones included; `undefined` where none told. */
  readonly usage: UsageMetadata | undefined;
  readonly llmCalls: number;
  /** What ignored the stop and was left behind. */
  readonly abandoned: readonly string[];
  /** The last Event that was stored. */
  readonly lastEventId: string | undefined;
}

/** Why a run ends; `failure` is what the reader's `next()` rejects with. */
export interface Ending {
  readonly kind: RunKind;
  readonly failure?: {readonly reason: unknown};
}
