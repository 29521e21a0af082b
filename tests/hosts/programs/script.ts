import {BaseLlm, type LlmRequest, type LlmResponse} from 'sluice';

const say = (...parts: NonNullable<LlmResponse['content']>['parts'] & object): LlmResponse => ({content: {role: 'model', parts}});

/** A model that goes by a script: `sluice/testing`, which has one, is for Node. */
export class Script extends BaseLlm {
  readonly #replies: (readonly LlmResponse[])[];

  constructor(...replies: readonly (readonly LlmResponse[])[]) {
    super({model: 'script'});
    this.#replies = [...replies];
  }

  override async *generateContentAsync(
    _request: LlmRequest,
    _stream?: boolean,
    abortSignal?: AbortSignal,
  ): AsyncGenerator<LlmResponse, void> {
    for (const response of this.#replies.shift() ?? []) {
      abortSignal?.throwIfAborted();
      yield response;
    }
  }
}

/** A reply that calls functions. */
export function callsOf(...names: readonly string[]): readonly LlmResponse[] {
  return [say(...names.map((name) => ({functionCall: {name, args: {}}})))];
}

/** A reply that is streamed. */
export function pieces(...texts: readonly string[]): readonly LlmResponse[] {
  return [...texts.map((text) => ({...say({text}), partial: true})), say({text: texts.join('')})];
}
