import type {Candidate, GenerateContentResponse} from '@google/genai';

import type {CitationMetadata, GroundingMetadata, Part, UsageMetadata} from '../content.ts';
import type {LlmResponse} from '../models/llm-response.ts';
import {isBlankPart} from './blank-part.ts';
import {isCallFragment, isCallTerminator, StreamedCall} from './streamed-call.ts';

/**
 * Makes one whole response of a reply's chunks, and a partial one of each.
 *
 * Text deltas are joined; every other part stays as it came, in particular a part with a thought signature, which Gemini wants back on
 * exactly that part.
 */
export class ReplyAssembler {
  readonly #parts: Part[] = [];
  #role = 'model';
  #call: StreamedCall | undefined;
  #hasCandidate = false;
  #finishReason: string | undefined;
  #finishMessage: string | undefined;
  #feedback: GenerateContentResponse['promptFeedback'];
  #usage: UsageMetadata | undefined;
  #grounding: GroundingMetadata | undefined;
  #citations: CitationMetadata | undefined;
  #modelVersion: string | undefined;

  /** Whether the reply holds a candidate or says why it has none. */
  get answered(): boolean {
    return this.#hasCandidate || this.#feedback !== undefined;
  }

  /** Whether the reply says that it is complete. */
  get finished(): boolean {
    return this.#finishReason !== undefined || this.#feedback !== undefined;
  }

  /** Takes a chunk; gives its partial response if it has any content. */
  add(chunk: GenerateContentResponse): LlmResponse | undefined {
    const candidate = chunk.candidates?.find(({index}) => (index ?? 0) === 0);
    this.#feedback = chunk.promptFeedback ?? this.#feedback;
    this.#usage = chunk.usageMetadata ?? this.#usage;
    this.#modelVersion = chunk.modelVersion ?? this.#modelVersion;
    if (candidate === undefined) return undefined;
    this.#addCandidate(candidate);
    const parts = (candidate.content?.parts ?? []).filter((part) => !isBlankPart(part) && this.#addPart(part));
    if (parts.length === 0) return undefined;
    return {
      content: {role: this.#role, parts},
      partial: true,
      ...(chunk.usageMetadata !== undefined && {usageMetadata: chunk.usageMetadata}),
      ...(chunk.modelVersion !== undefined && {modelVersion: chunk.modelVersion}),
    };
  }

  /** The whole of what came so far. */
  whole(): LlmResponse {
    const failure = this.#failure();
    return {
      ...(this.#parts.length > 0 && {content: {role: this.#role, parts: this.#parts}}),
      ...(this.#finishReason !== undefined && {finishReason: this.#finishReason}),
      ...(failure !== undefined && {errorCode: failure.code, errorMessage: failure.message}),
      ...(this.#usage !== undefined && {usageMetadata: this.#usage}),
      ...(this.#grounding !== undefined && {groundingMetadata: this.#grounding}),
      ...(this.#citations !== undefined && {citationMetadata: this.#citations}),
      ...(this.#modelVersion !== undefined && {modelVersion: this.#modelVersion}),
    };
  }

  #addCandidate({content, finishReason, finishMessage, groundingMetadata, citationMetadata}: Candidate): void {
    this.#hasCandidate = true;
    if (content?.role) this.#role = content.role;
    // Old models repeat the reason on every chunk, and may change it at the last.
    if (finishReason !== undefined && finishReason !== 'FINISH_REASON_UNSPECIFIED') this.#finishReason = finishReason;
    this.#finishMessage = finishMessage ?? this.#finishMessage;
    if (groundingMetadata) this.#grounding = {...this.#grounding, ...groundingMetadata};
    if (citationMetadata) this.#citations = joinCitations(this.#citations, citationMetadata);
  }

  /** `false` for a part that says nothing to a reader. */
  #addPart(part: Part): boolean {
    if (isCallFragment(part)) return this.#addFragment(part);
    if (part.functionCall !== undefined) this.#call = undefined;
    const last = this.#parts.at(-1);
    if (last !== undefined && isPlainText(last) && isPlainText(part) && Boolean(last.thought) === Boolean(part.thought)) {
      last.text = `${last.text}${part.text}`;
    } else this.#parts.push(isPlainText(part) ? {...part} : part);
    return true;
  }

  #addFragment(part: Part): boolean {
    if (this.#call?.continuesWith(part)) this.#call.add(part);
    else if (!isCallTerminator(part)) {
      this.#call = new StreamedCall(part);
      this.#parts.push(this.#call.part);
    }
    return !isCallTerminator(part);
  }

  #failure(): {readonly code: string; readonly message: string} | undefined {
    const {blockReason, blockReasonMessage} = this.#feedback ?? {};
    if (blockReason !== undefined || !this.#hasCandidate) {
      const code = blockReason ?? 'BLOCKED_REASON_UNSPECIFIED';
      return {code, message: blockReasonMessage ?? `The prompt was blocked (${code})`};
    }
    const reason = this.#finishReason;
    if (reason === undefined || reason === 'STOP') return undefined;
    return {code: reason, message: this.#finishMessage ?? explanations[reason] ?? `The model ended its answer with ${reason}`};
  }
}

const explanations: Readonly<Record<string, string>> = {
  MAX_TOKENS: 'The answer was cut at the limit of output tokens, which thoughts count towards (MAX_TOKENS)',
  MALFORMED_FUNCTION_CALL: 'The model made a function call that cannot be read (MALFORMED_FUNCTION_CALL)',
  UNEXPECTED_TOOL_CALL: 'The model called a tool that the request did not declare (UNEXPECTED_TOOL_CALL)',
  RECITATION: 'The answer was stopped because it recites protected content (RECITATION)',
  SAFETY: 'The answer was stopped by a safety filter (SAFETY)',
};

/** Text and nothing else, so that a delta can be joined to it. */
function isPlainText(part: Part): boolean {
  return (
    typeof part.text === 'string' &&
    Object.entries(part).every(([key, value]) => key === 'text' || key === 'thought' || value === undefined)
  );
}

/** Each chunk cites its own sources, some of them again. */
function joinCitations(present: CitationMetadata | undefined, added: CitationMetadata): CitationMetadata {
  const citations = new Map(
    [...(present?.citations ?? []), ...(added.citations ?? [])].map((citation) => [JSON.stringify(citation), citation]),
  );
  return {...present, ...added, ...(citations.size > 0 && {citations: [...citations.values()]})};
}
