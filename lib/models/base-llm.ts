import {InvalidOptionError} from '../errors.ts';
import type {BaseLlmConnection} from './base-llm-connection.ts';
import type {LlmRequest} from './llm-request.ts';
import type {LlmResponse} from './llm-response.ts';

/**
 * A model. The port that every provider fills.
 *
 * @example
 * ```ts
 * import {BaseLlm, type LlmRequest, type LlmResponse} from 'sluice';
 *
 * class Parrot extends BaseLlm {
 *   async *generateContentAsync(llmRequest: LlmRequest): AsyncGenerator<LlmResponse, void, undefined> {
 *     yield {content: {role: 'model', parts: llmRequest.contents.at(-1)?.parts ?? []}, finishReason: 'STOP'};
 *   }
 * }
 * const parrot = new Parrot({model: 'parrot'});
 * ```
 */
export abstract class BaseLlm {
  /** Names of models that a class registered with `LLMRegistry` serves; a RegExp must match the whole name. */
  static readonly supportedModels: readonly (string | RegExp)[] = [];

  /** The model's name. */
  readonly model: string;

  constructor({model}: {readonly model: string}) {
    this.model = model;
  }

  /**
   * Makes one call: any number of partial responses, then one whole one.
   *
   * The run always gives an `abortSignal` of this call's own. It fires when the run is stopped or the reader leaves, and also when the
   * call is over, so that whatever hangs on it is let go. A model that ignores it is left behind after `abortGraceMs`.
   *
   * @param stream - whether partial responses are wanted; a whole one must come in either case
   */
  abstract generateContentAsync(
    llmRequest: LlmRequest,
    stream?: boolean,
    abortSignal?: AbortSignal,
  ): AsyncGenerator<LlmResponse, void, undefined>;

  /**
   * Opens a live connection, for `runner.runLive`. A model that has none need not override it.
   *
   * @param llmRequest - its `config` and `liveConnectConfig` describe the session; its `contents` are sent by the run
   * @param options - `abortSignal` ends the attempt, at once and without a socket left; the connection itself is ended by its `close`
   * @throws {@link InvalidOptionError} for a model without live connections
   * @throws {@link ModelError} where the model cannot be reached or refuses; `retryable` says whether another attempt may work
   */
  async connect(_llmRequest: LlmRequest, _options?: {readonly abortSignal?: AbortSignal | undefined}): Promise<BaseLlmConnection> {
    throw new InvalidOptionError('model', 'a live model', this.model);
  }
}
