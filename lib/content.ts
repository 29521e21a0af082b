/**
 * The words of a conversation, in Gemini's own types. They are types only: the core never loads `@google/genai` at run time.
 *
 * @see {@link https://ai.google.dev/api/caching#Content}
 */
import type {FunctionCall, FunctionResponse, Part} from '@google/genai';

export type {
  Blob,
  CitationMetadata,
  Content,
  FileData,
  FunctionCall,
  FunctionDeclaration,
  FunctionResponse,
  GenerateContentConfig,
  GroundingMetadata,
  LiveConnectConfig,
  LiveServerGoAway,
  LiveServerSessionResumptionUpdate,
  LiveServerToolCallCancellation,
  Part,
  Schema,
  Tool,
  Transcription,
} from '@google/genai';
export type {GenerateContentResponseUsageMetadata as UsageMetadata} from '@google/genai';

/** A part that asks for a function call. */
export type FunctionCallPart = Part & {functionCall: FunctionCall};

/** A part that answers a function call. */
export type FunctionResponsePart = Part & {functionResponse: FunctionResponse};

/** Any value that JSON can hold. */
export type Json = string | number | boolean | null | Json[] | {[key: string]: Json};
