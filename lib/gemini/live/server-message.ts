import type {FunctionCall, LiveServerMessage} from '@google/genai';

import type {Content, Part, Transcription, UsageMetadata} from '../../content.ts';
import type {LlmResponse} from '../../models/llm-response.ts';
import {isRecord} from '../../schema/is-record.ts';
import {isBlankPart} from '../blank-part.ts';

/** A message as it comes: any field may be missing or new. */
export type ServerMessage = Partial<Pick<LiveServerMessage, keyof LiveServerMessage>>;

/** Gemini names the model's tokens one way, Vertex AI another. */
const usageNames: Readonly<Record<string, string>> = {
  responseTokenCount: 'candidatesTokenCount',
  responseTokensDetails: 'candidatesTokensDetails',
};

/** What a message says to the run; nothing where it says nothing. */
export function toLlmResponse(message: ServerMessage): LlmResponse | undefined {
  const {setupComplete, toolCallCancellation, goAway, sessionResumptionUpdate, usageMetadata} = message;
  const response: LlmResponse = {
    ...contentOf(message),
    ...signalsOf(message.serverContent),
    ...(isGiven(toolCallCancellation) && hasItems(toolCallCancellation.ids) && {toolCallCancellation}),
    ...(isGiven(goAway) && {goAway}),
    // One without anything says that the session cannot be resumed now.
    ...(isGiven(sessionResumptionUpdate) && {liveSessionResumptionUpdate: sessionResumptionUpdate}),
    ...(isGiven(usageMetadata) && {usageMetadata: usageOf(usageMetadata)}),
    ...(setupComplete?.sessionId && {liveSessionId: setupComplete.sessionId}),
  };
  return Object.keys(response).length > 0 ? response : undefined;
}

/** Pieces of the model's turn are partial; a content with calls is whole, or they would not be run. */
function contentOf({serverContent, toolCall}: ServerMessage): {content?: Content; partial?: boolean} {
  const spoken = list<Part>(serverContent?.modelTurn?.parts).filter((part) => !isBlankPart(part));
  const called = list<FunctionCall>(toolCall?.functionCalls).map((functionCall) => ({functionCall}));
  const parts: Part[] = [...spoken, ...called];
  if (parts.length === 0) return {};
  const content = {role: 'model', parts};
  return parts.some(({functionCall}) => functionCall !== undefined) ? {content} : {content, partial: true};
}

function signalsOf(content: LiveServerMessage['serverContent']): LlmResponse {
  if (!isGiven(content)) return {};
  const {turnComplete, interrupted, generationComplete, groundingMetadata, inputTranscription, outputTranscription} = content;
  const {turnCompleteReason} = content;
  return {
    ...(turnComplete === true && {turnComplete}),
    ...(interrupted === true && {interrupted}),
    ...(generationComplete === true && {generationComplete}),
    ...(isTold(inputTranscription) && {inputTranscription}),
    ...(isTold(outputTranscription) && {outputTranscription}),
    ...(isGiven(groundingMetadata) && Object.keys(groundingMetadata).length > 0 && {groundingMetadata}),
    // A turn may be complete because it was refused, and nothing else says so.
    ...(turnCompleteReason && {customMetadata: {turnCompleteReason}}),
  };
}

/** Vertex AI begins with a transcription that holds nothing. */
function isTold(transcription: Transcription | undefined): transcription is Transcription {
  return isGiven(transcription) && (Boolean(transcription.text) || transcription.finished === true);
}

function usageOf(usage: object): UsageMetadata {
  return Object.fromEntries(Object.entries(usage).map(([name, value]: [string, unknown]) => [usageNames[name] ?? name, value]));
}

function hasItems(value: unknown): boolean {
  return Array.isArray(value) && value.length > 0;
}

function list<T extends object>(value: unknown): T[] {
  return Array.isArray(value) ? value.filter(isRecord).map((item) => item as T) : [];
}

/** Whether a field is there, and an object as it should be: what a server sends is not known until it is seen. */
function isGiven<T extends object>(value: T | undefined): value is T {
  return isRecord(value);
}
