import type {Context} from '../../context/context.ts';
import type {EventActions} from '../../events/event-actions.ts';
import type {Event} from '../../events/event.ts';
import type {LlmRequest} from '../../models/llm-request.ts';

/** A point in a schedule. */
export interface Instant {
  /** Counts everything that was seen, from 1. */
  readonly order: number;
  /** Virtual time. */
  readonly ms: number;
  /** Which turn of the event loop. */
  readonly turn: number;
  /** Promise jobs so far. */
  readonly job: number;
}

export type CallKind = 'model' | 'tool' | 'hook' | 'agent' | 'store';

export type CallOutcome = {readonly value: unknown} | {readonly error: unknown} | {readonly left: true};

/** A call from a run into the user's code. */
export interface WatchedCall {
  readonly kind: CallKind;
  readonly name: string;
  /** Whose async context it was made in. */
  readonly caller: string | undefined;
  readonly started: Instant;
  readonly signal?: AbortSignal | undefined;
  /** Of a tool. */
  readonly functionCallId?: string | undefined;
  /** How long a tool may take. */
  readonly timeoutMs?: number | undefined;
  /** Whether a tool always has to be confirmed before it runs. */
  readonly needsConfirmation?: boolean | undefined;
  /** Whether it was made in the body of a tool: by an agent that is one. */
  readonly inTool: boolean;
  /** What a tool writes with its response. */
  readonly actions?: EventActions | undefined;
  /** What a tool or a hook was given of the run. */
  readonly context?: Context | undefined;
  /** Of a model. */
  readonly request?: LlmRequest | undefined;
  /** What a generator has given. */
  readonly yielded: {readonly value: unknown; readonly at: Instant}[];
  /** The Event that a store was given, and those that stood in the session before. */
  readonly event?: Event | undefined;
  readonly before?: readonly Event[] | undefined;
  aborted?: Instant;
  ended?: Instant;
  outcome?: CallOutcome;
}
