import {narrate} from '../agents/llm/history-narration.ts';
import type {Content, Part} from '../content.ts';
import type {Context} from '../context/context.ts';
import {ModelError} from '../errors.ts';
import type {BaseLlm} from '../models/base-llm.ts';
import type {LlmResponse} from '../models/llm-response.ts';

/** What an {@link EventSummarizer} gets. */
export interface SummarizerParams {
  /** What to sum up, as a model would be sent it, a summary of what was before in front. Not to be changed. */
  readonly contents: readonly Content[];
  /** Of the run that waits for the summary; its `abortSignal` fires when that is stopped. */
  readonly context: Context;
}

/** Sums up what was said; no text where it is to stay as it is. */
export type EventSummarizer = (params: SummarizerParams) => string | undefined | Promise<string | undefined>;

const PROMPT = [
  'Below is the beginning of a conversation. An assistant will go on with it, and will see your summary in its place.',
  'Keep what the user wants and has decided; names, numbers and ids to the letter; what tools were called and what came of it; and what is',
  'still to be done. Leave out what no longer matters. Write in the language of the conversation, and nothing but the summary.',
].join(' ');

// Made once: an exception captures its stack.
const OVER = new DOMException('The model call is over', 'AbortError');

/** Has a model sum up. Its call ends with the run, and throws where it comes to no whole text. */
export function summarizeWith(model: BaseLlm): EventSummarizer {
  return async ({contents, context}) => {
    const life = context.life.child();
    const parts = [{text: PROMPT}, ...contents.flatMap((content) => toldParts(content, context.agentName))];
    try {
      const responses: LlmResponse[] = [];
      const call = model.generateContentAsync({contents: [{role: 'user', parts}], config: {}}, false, life.signal);
      for await (const response of call) if (!response.partial) responses.push(response);
      life.throwIfEnded();
      return textOf(responses);
    } finally {
      life.end(OVER);
    }
  };
}

/** A content in words: the model that sums up knows none of the tools. */
function toldParts({role, parts = []}: Content, agentName: string): Part[] {
  return parts.flatMap((part) => narrate(role === 'model' || part.functionResponse ? agentName : 'user', [part]));
}

function textOf(responses: readonly LlmResponse[]): string {
  const failed = responses.find(({errorCode}) => errorCode);
  if (failed) {
    const {errorCode: code = '', errorMessage} = failed;
    throw new ModelError(`The summary ended with ${code}${errorMessage ? `: ${errorMessage}` : ''}`, {code});
  }
  const parts = responses.flatMap(({content}) => content?.parts ?? []);
  const text = parts.map((part) => (part.thought ? '' : (part.text ?? ''))).join('');
  if (!text.trim()) throw new ModelError('The summary is empty', {code: 'EMPTY_RESPONSE'});
  return text;
}
