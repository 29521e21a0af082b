import {BaseLlm, type FunctionCall, type LlmRequest, type LlmResponse} from 'sluice';
import {deltas, functionCalls, text} from 'sluice/testing';

/** Stands in for Gemini where there is no key: makes one call whatever it is told, and puts what comes back into a sentence. */
export class OfflineModel extends BaseLlm {
  readonly #call: FunctionCall;

  constructor(call: FunctionCall) {
    super({model: 'offline'});
    this.#call = call;
  }

  async *generateContentAsync(llmRequest: LlmRequest, stream = false): AsyncGenerator<LlmResponse, void, undefined> {
    const response = llmRequest.contents.at(-1)?.parts?.find((part) => part.functionResponse)?.functionResponse?.response;
    if (!response) yield functionCalls(this.#call);
    else if (stream) yield* deltas('Without GEMINI_API_KEY ', 'all that I know is ', `${JSON.stringify(response)}.`);
    else yield text(`Without GEMINI_API_KEY all that I know is ${JSON.stringify(response)}.`);
  }
}
