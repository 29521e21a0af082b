import type {FunctionCall} from '../content.ts';
import type {LlmRequest} from '../models/llm-request.ts';
import type {LlmResponse} from '../models/llm-response.ts';

/** What a scripted function learns about the call that it answers. */
export interface ScriptedCall {
  /** The call's own signal; `undefined` if the caller gave none. */
  readonly abortSignal: AbortSignal | undefined;
  /** Counts the calls of this model, from 0. */
  readonly index: number;
  /** Whether partial responses are wanted. */
  readonly stream: boolean;
}

/** Decides on an answer when the call comes. An async generator function fits too. */
export type ScriptedFunction = (llmRequest: LlmRequest, call: ScriptedCall) => ScriptedStep;

/**
 * The answer to one model call:
 * - a string: a text reply that ends with `STOP`;
 * - an `LlmResponse`, or an array of them: partial ones, which are left out when the caller does not stream, then the whole one;
 * - an `Error`: thrown, the very object;
 * - a function, a promise (a gate that the test opens) or an async iterable of responses: what it gives.
 */
export type ScriptedStep =
  | string
  | LlmResponse
  | readonly LlmResponse[]
  | Error
  | ScriptedFunction
  | PromiseLike<ScriptedStep>
  | AsyncIterable<LlmResponse>
  | DeafStep;

/** A step that is played without a look at the signal; made by {@link deaf}. */
export class DeafStep {
  readonly step: ScriptedStep;

  constructor(step: ScriptedStep) {
    this.step = step;
  }
}

/** A whole reply of one text, ending with `STOP`. */
export function text(value: string): LlmResponse {
  return {content: {role: 'model', parts: [{text: value}]}, finishReason: 'STOP'};
}

/** A whole reply that asks for these calls, in this order. Without an `id` a call comes as from a model that gives none. */
export function functionCalls(...calls: readonly FunctionCall[]): LlmResponse {
  return {content: {role: 'model', parts: calls.map((functionCall) => ({functionCall}))}, finishReason: 'STOP'};
}

/** A streamed reply: one partial response per piece, then the whole one with the joined text. */
export function deltas(...pieces: readonly string[]): LlmResponse[] {
  const partials = pieces.map((piece): LlmResponse => ({content: {role: 'model', parts: [{text: piece}]}, partial: true}));
  return [...partials, text(pieces.join(''))];
}

/** A call that never answers, and ends with the signal's reason when the signal fires: a stalled but well-behaved model. */
export function hang(): ScriptedFunction {
  return function hang() {
    return new Promise<never>(() => {});
  };
}

/**
 * A call that ignores its signal: never answers, or plays `step` whatever the signal says. With a promise as `step` the answer comes
 * late, after a stop, when the test says so.
 */
export function deaf(step: ScriptedStep = new Promise<never>(() => {})): DeafStep {
  return new DeafStep(step);
}
