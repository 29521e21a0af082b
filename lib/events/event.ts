import type {Content, FunctionCall, FunctionResponse, CitationMetadata, GroundingMetadata, UsageMetadata} from '../content.ts';
import {createEventActions, type EventActions} from './event-actions.ts';
import type {LiveSignals} from './live-signals.ts';
import {servedParts} from './served-parts.ts';

/**
 * One thing that happened in a session: what the user, a model or a tool said, and what it changed. A plain object, JSON throughout.
 *
 * An Event with `partial: true` is a piece of one that follows whole; it is yielded and never stored.
 */
export interface Event extends LiveSignals {
  /** Unique, a UUID. Appending the same id twice stores it once. */
  id: string;
  /** The run that it belongs to. */
  invocationId: string;
  /** `'user'`, or the name of the agent. */
  author: string;
  /** Milliseconds since 1970. */
  timestamp: number;
  actions: EventActions;
  content?: Content;
  /** `true`: a piece of an Event that follows whole. */
  partial?: boolean;
  /** Ids of calls whose final response comes later, in another run. */
  longRunningToolIds?: string[];
  /** The path of agents, such as `root.left`, that sees this Event; without one, all do. */
  branch?: string;
  /** What the agent came to, in the form of its `outputSchema`. */
  output?: unknown;
  /** Why the reply has no usable content, or is cut: `SAFETY`, `MAX_TOKENS`, `MALFORMED_FUNCTION_CALL` ... */
  errorCode?: string;
  errorMessage?: string;
  /** The provider's finish reason; unknown strings pass through. */
  finishReason?: string;
  usageMetadata?: UsageMetadata;
  groundingMetadata?: GroundingMetadata;
  citationMetadata?: CitationMetadata;
  modelVersion?: string;
  /** `stopped: true` marks the text of a reply that was cut by a stop. */
  customMetadata?: Record<string, unknown>;
}

/** What `createEvent` takes: any part of an Event; `actions` may be partial. */
export type CreateEventParams = Partial<Omit<Event, 'actions'>> & {actions?: Partial<EventActions>};

/**
 * Makes an Event, filling in what is missing: a new `id`, the time, no actions, author `'user'`.
 *
 * @example
 * ```ts
 * import {createEvent} from 'sluice';
 *
 * const note = createEvent({author: 'clerk', content: {role: 'model', parts: [{text: 'Filed.'}]}});
 * ```
 */
export function createEvent(params: CreateEventParams = {}): Event {
  return {
    ...params,
    id: params.id ?? crypto.randomUUID(),
    invocationId: params.invocationId ?? '',
    author: params.author ?? 'user',
    timestamp: params.timestamp ?? Date.now(),
    actions: createEventActions(params.actions),
  };
}

/** The function calls in an Event, in order. */
export function getFunctionCalls(event: Event): FunctionCall[] {
  const calls: FunctionCall[] = [];
  for (const part of event.content?.parts ?? []) if (part.functionCall) calls.push(part.functionCall);
  return calls;
}

/** The function responses in an Event, in order. */
export function getFunctionResponses(event: Event): FunctionResponse[] {
  const responses: FunctionResponse[] = [];
  for (const part of event.content?.parts ?? []) if (part.functionResponse) responses.push(part.functionResponse);
  return responses;
}

/** Whether an Event ends its agent's turn: whole, without calls or responses that the model must still see. */
export function isFinalResponse(event: Event): boolean {
  if (event.actions.skipSummarization || (event.longRunningToolIds?.length ?? 0) > 0) return true;
  if (event.partial) return false;
  const parts = event.content?.parts ?? [];
  const served = servedParts(parts);
  if (parts.some((part) => (part.functionCall || part.functionResponse) && !served.has(part))) return false;
  return !parts.at(-1)?.codeExecutionResult;
}

/** The text of an Event, without thoughts; `''` where there is none. */
export function stringifyContent(event: Event): string {
  let text = '';
  for (const part of event.content?.parts ?? []) if (part.text && !part.thought) text += part.text;
  return text;
}
