import {within} from '../async/within.ts';
import {expectOption} from '../errors.ts';
import type {BaseLlmConnection} from './base-llm-connection.ts';
import {BaseLlm} from './base-llm.ts';
import {geminiModelNames} from './gemini-model-names.ts';
import type {LlmRequest} from './llm-request.ts';
import type {LlmResponse} from './llm-response.ts';

/** A class of models that `LLMRegistry` can make from a name. */
export interface LlmClass {
  new (options: {readonly model: string}): BaseLlm;
  /** Which names it serves: a string is compared, a RegExp must match the whole name. */
  readonly supportedModels: readonly (string | RegExp)[];
}

/**
 * Finds the model for a name. Gemini's names work without any registration: its adapter is loaded at the first call, never before.
 *
 * @example
 * ```ts
 * import {BaseLlm, LLMRegistry, type LlmResponse} from 'sluice';
 *
 * class Parrot extends BaseLlm {
 *   static override readonly supportedModels: readonly (string | RegExp)[] = [/parrot-\d+/];
 *
 *   async *generateContentAsync(): AsyncGenerator<LlmResponse, void, undefined> {
 *     yield {content: {role: 'model', parts: [{text: 'hello'}]}, finishReason: 'STOP'};
 *   }
 * }
 * LLMRegistry.register(Parrot);
 * const parrot = LLMRegistry.newLlm('parrot-2');
 * ```
 */
export class LLMRegistry {
  static #classes: readonly LlmClass[] = [];

  /**
   * Registers a class of models. The newest registration that serves a name wins, also over Gemini.
   *
   * @throws {@link InvalidOptionError} if it is no class, or names no models
   */
  static register(llmClass: LlmClass): void {
    expectOption(typeof llmClass === 'function', 'llmClass', 'a class that extends BaseLlm', llmClass);
    const names: unknown = llmClass.supportedModels;
    const areNames = Array.isArray(names) && names.length > 0 && names.every(isName);
    expectOption(areNames, `${llmClass.name}.supportedModels`, 'a list of strings and RegExps that is not empty', names);
    LLMRegistry.#classes = [llmClass, ...LLMRegistry.#classes.filter((present) => present !== llmClass)];
  }

  /**
   * The class that serves a name.
   *
   * @throws {@link InvalidOptionError} if none does
   */
  static resolve(model: string): LlmClass {
    const found = [...LLMRegistry.#classes, LazyGemini].find((llmClass) => typeof model === 'string' && serves(llmClass, model));
    const expected = 'the name of a Gemini model or one given to LLMRegistry.register(...), or a BaseLlm';
    expectOption(found !== undefined, 'model', expected, model);
    return found;
  }

  /**
   * A new model object for a name. It loads nothing and connects to nothing before its first call.
   *
   * @throws {@link InvalidOptionError} if no class serves the name
   */
  static newLlm(model: string): BaseLlm {
    return new (LLMRegistry.resolve(model))({model});
  }
}

function isName(name: unknown): boolean {
  return name instanceof RegExp || (typeof name === 'string' && name !== '');
}

function serves({supportedModels}: LlmClass, model: string): boolean {
  return supportedModels.some((name) => {
    if (typeof name === 'string') return name === model;
    // A copy without `g` and `y`: those keep state between calls.
    return new RegExp(`^(?:${name.source})$`, name.flags.replace(/[gy]/g, '')).test(model);
  });
}

/** Stands for a Gemini model until its first call, so that the core never loads the adapter for those who use another model. */
class LazyGemini extends BaseLlm {
  static override readonly supportedModels: readonly (string | RegExp)[] = geminiModelNames;

  #gemini: BaseLlm | undefined;

  async *generateContentAsync(
    llmRequest: LlmRequest,
    stream?: boolean,
    abortSignal?: AbortSignal,
  ): AsyncGenerator<LlmResponse, void, undefined> {
    this.#gemini ??= await this.#load(abortSignal);
    yield* this.#gemini.generateContentAsync(llmRequest, stream, abortSignal);
  }

  override async connect(llmRequest: LlmRequest, options?: {readonly abortSignal?: AbortSignal | undefined}): Promise<BaseLlmConnection> {
    this.#gemini ??= await this.#load(options?.abortSignal);
    return this.#gemini.connect(llmRequest, options);
  }

  /** Rejects at once on an abort: a first import may take its time. */
  async #load(signal: AbortSignal | undefined): Promise<BaseLlm> {
    signal?.throwIfAborted();
    const loading = import('sluice/gemini').then(({Gemini}) => new Gemini({model: this.model}));
    await within(loading, (callback) => {
      signal?.addEventListener('abort', callback, {once: true});
      return () => signal?.removeEventListener('abort', callback);
    });
    signal?.throwIfAborted();
    return loading;
  }
}
