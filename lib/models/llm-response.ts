import type {CitationMetadata, Content, GroundingMetadata, UsageMetadata} from '../content.ts';
import type {LiveSignals} from '../events/live-signals.ts';

/** One piece of a model's answer (`partial: true`), or a whole one. Plain JSON. */
export interface LlmResponse extends LiveSignals {
  content?: Content;
  /** `true`: a piece; one response without it must follow, holding the whole. */
  partial?: boolean;
  /** Set where the reply is cut or without usable content; its calls are never run. */
  errorCode?: string;
  errorMessage?: string;
  /** Anything but `STOP` counts as an `errorCode`. */
  finishReason?: string;
  /** Of this call so far; the last one given counts. */
  usageMetadata?: UsageMetadata;
  groundingMetadata?: GroundingMetadata;
  citationMetadata?: CitationMetadata;
  modelVersion?: string;
  customMetadata?: Record<string, unknown>;
}
