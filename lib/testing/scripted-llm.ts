import {InvalidOptionError} from '../errors.ts';
import {BaseLlm} from '../models/base-llm.ts';
import type {LlmRequest} from '../models/llm-request.ts';
import type {LlmResponse} from '../models/llm-response.ts';
import {copyJson} from '../schema/json-copy.ts';
import {DeafStep, text, type ScriptedStep} from './scripted-steps.ts';
import {ScriptError} from './testing-errors.ts';
import {untilAborted} from './until-aborted.ts';

/** What `ScriptedLlm` is made of. */
export interface ScriptedLlmOptions {
  /** The model's name. Default: `'scripted'`. */
  readonly model?: string | undefined;
  /** One step per call, in order. Default: none; `enqueue` adds more. */
  readonly steps?: readonly ScriptedStep[] | undefined;
  /** Whether requests and signals are kept and everything is copied. Default: `true`; `false` makes a call as cheap as can be, for benchmarks. */
  readonly record?: boolean | undefined;
}

/**
 * A model that plays a script: one step per call. It needs no network, and records what it was asked.
 *
 * It is a good citizen: before each response, and while it waits for a step, it looks at its `abortSignal`, and throws the signal's reason
 * once that has fired ({@link deaf} makes it a bad one). A reader that returns early ends the call; its step counts as used.
 *
 * @example
 * ```ts
 * import {FunctionTool, InMemoryRunner, LlmAgent} from 'sluice';
 * import {ScriptedLlm, functionCalls} from 'sluice/testing';
 *
 * const model = new ScriptedLlm({steps: [functionCalls({name: 'get_time', args: {}}), 'It is noon.']});
 * const getTime = new FunctionTool({name: 'get_time', description: 'The time.', execute: () => '12:00'});
 * const agent = new LlmAgent({name: 'clock', model, tools: [getTime]});
 * const runner = new InMemoryRunner({agent, appName: 'test'});
 * for await (const event of runner.runEphemeral({userId: 'u', newMessage: {role: 'user', parts: [{text: 'Time?'}]}})) {
 *   console.log(event.author);
 * }
 * model.assertComplete();
 * console.log(model.requests[1]?.contents.length);
 * ```
 */
export class ScriptedLlm extends BaseLlm {
  /** What each call was asked: copies, taken when the call began. */
  readonly requests: LlmRequest[] = [];
  /** The signal of each call. */
  readonly signals: (AbortSignal | undefined)[] = [];

  readonly #steps: ScriptedStep[];
  readonly #record: boolean;
  #calls = 0;
  #used = 0;

  /** @throws InvalidOptionError if `steps` is not an array. */
  constructor({model = 'scripted', steps = [], record = true}: ScriptedLlmOptions = {}) {
    super({model});
    if (!Array.isArray(steps)) throw new InvalidOptionError('steps', 'an array of scripted steps', steps);
    this.#steps = [...(steps as readonly ScriptedStep[])];
    this.#record = record;
  }

  /** How many calls have begun, one beyond the script included. */
  get calls(): number {
    return this.#calls;
  }

  /** The steps that no call has used yet. */
  get unusedSteps(): readonly ScriptedStep[] {
    return this.#steps.slice(this.#used);
  }

  /** Adds steps at the end of the script. */
  enqueue(...steps: readonly ScriptedStep[]): void {
    this.#steps.push(...steps);
  }

  /** @throws ScriptError naming the steps that were not used, if there are any. */
  assertComplete(): void {
    const unused = this.unusedSteps;
    if (unused.length === 0) return;
    const total = this.#steps.length;
    const named = unused.map((step, at) => `#${total - unused.length + at + 1} ${nameOf(step)}`);
    throw new ScriptError(
      'SCRIPT_UNUSED',
      `ScriptedLlm \`${this.model}\` used ${this.#used} of ${total} steps; unused: ${named.join(', ')}`,
    );
  }

  async *generateContentAsync(
    llmRequest: LlmRequest,
    stream = false,
    abortSignal?: AbortSignal,
  ): AsyncGenerator<LlmResponse, void, undefined> {
    const index = this.#calls++;
    if (this.#record) {
      this.requests.push(copyJson(llmRequest));
      this.signals.push(abortSignal);
    }
    let step = this.#take(index);
    let heeded = abortSignal;
    for (;;) {
      heeded?.throwIfAborted();
      if (step instanceof DeafStep) {
        heeded = undefined;
        step = step.step;
      } else if (typeof step === 'function') step = step(llmRequest, {abortSignal, index, stream});
      else if (isPromise(step)) step = await untilAborted(step, heeded);
      else break;
    }
    if (step instanceof Error) throw step;
    if (isAsyncIterable(step)) yield* this.#relay(step, stream, heeded);
    else {
      for (const response of responsesOf(step)) {
        if (response.partial && !stream) continue;
        heeded?.throwIfAborted();
        yield this.#record ? copyJson(response) : response;
      }
    }
  }

  async *#relay(source: AsyncIterable<LlmResponse>, stream: boolean, heeded: AbortSignal | undefined): AsyncGenerator<LlmResponse, void> {
    const iterator = source[Symbol.asyncIterator]();
    try {
      for (;;) {
        const next = await untilAborted(iterator.next(), heeded);
        if (next.done) return;
        if (next.value.partial && !stream) continue;
        heeded?.throwIfAborted();
        yield this.#record ? copyJson(next.value) : next.value;
      }
    } finally {
      // Not awaited: the return of a generator that is parked on its `next()` would never come.
      void Promise.resolve(iterator.return?.()).catch(() => {});
    }
  }

  #take(index: number): ScriptedStep {
    const step = this.#steps[this.#used];
    if (step === undefined) {
      const steps = this.#steps.length;
      throw new ScriptError('SCRIPT_EXHAUSTED', `ScriptedLlm \`${this.model}\` got call ${index + 1}, but its script has ${steps} step(s)`);
    }
    this.#used++;
    return step;
  }
}

function responsesOf(step: string | LlmResponse | readonly LlmResponse[]): readonly LlmResponse[] {
  if (typeof step === 'string') return [text(step)];
  return isResponse(step) ? [step] : step;
}

function isResponse(step: LlmResponse | readonly LlmResponse[]): step is LlmResponse {
  return !Array.isArray(step);
}

function isPromise(step: object | string): step is PromiseLike<ScriptedStep> {
  return typeof step === 'object' && 'then' in step && typeof step.then === 'function';
}

function isAsyncIterable(step: object | string): step is AsyncIterable<LlmResponse> {
  return typeof step === 'object' && Symbol.asyncIterator in step;
}

function nameOf(step: ScriptedStep): string {
  if (typeof step === 'function') return `function ${step.name || '(anonymous)'}`;
  if (step instanceof DeafStep) return 'deaf';
  if (step instanceof Error) return `error ${JSON.stringify(step.message)}`;
  if (isPromise(step)) return 'promise';
  if (isAsyncIterable(step)) return 'async iterable';
  const parts = responsesOf(step).findLast((response) => !response.partial)?.content?.parts ?? [];
  const said = parts.map((part) => (part.functionCall ? `${part.functionCall.name}()` : JSON.stringify(part.text ?? '')));
  return said.length > 0 ? said.join(' + ') : 'reply without content';
}
