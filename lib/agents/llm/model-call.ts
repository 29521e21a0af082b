import {within} from '../../async/within.ts';
import {describe, messageOf, ModelError} from '../../errors.ts';
import type {LlmResponse} from '../../models/llm-response.ts';
import {abandonedWork} from '../diagnostic.ts';
import type {RunScope} from '../run-scope.ts';

/** One call of a model, read by hand, so that whoever leaves it says when the model is told. */
export class ModelCall {
  readonly #run: RunScope;
  readonly #name: string;
  readonly #leave: () => void;
  readonly #start: () => AsyncIterable<LlmResponse>;
  #responses: AsyncIterator<LlmResponse, unknown> | undefined;
  #over = false;

  constructor(run: RunScope, model: string, start: () => AsyncIterable<LlmResponse>) {
    this.#run = run;
    this.#start = start;
    this.#name = `model ${model}`;
    this.#leave = run.open.enter({name: this.#name, revoke: () => void this.#return()});
  }

  next(): Promise<IteratorResult<LlmResponse, unknown>> {
    this.#responses ??= this.#begin();
    return this.#responses.next().then((result) => {
      if (result.done) this.#over = true;
      return result;
    });
  }

  /** Lets go of a model that is not done. One that does not let go either is left behind after the grace. */
  async end(): Promise<void> {
    const {timers, config} = this.#run;
    const returned = this.#over ? undefined : this.#return();
    const letGo = !returned || (await within(returned, (callback) => timers.set(config.abortGraceMs, callback)));
    this.#leave();
    if (!letGo) this.#run.diagnose(abandonedWork(this.#name));
  }

  #begin(): AsyncIterator<LlmResponse, unknown> {
    const responses: unknown = this.#start();
    if (typeof responses === 'object' && responses !== null && Symbol.asyncIterator in responses) {
      return (responses as AsyncIterable<LlmResponse>)[Symbol.asyncIterator]();
    }
    throw new ModelError(`\`generateContentAsync\` gave ${describe(responses)}, not an async generator`, {code: 'INVALID_RESPONSE'});
  }

  #return(): Promise<unknown> | undefined {
    const responses = this.#responses;
    this.#over = true;
    if (!responses?.return) return undefined;
    return (async () => responses.return?.())().catch(() => {});
  }
}

/** What a model threw, as the error that a run ends with. */
export function asModelError(thrown: unknown): ModelError {
  return thrown instanceof ModelError ? thrown : new ModelError(messageOf(thrown), {code: 'MODEL_FAILED', cause: thrown});
}
