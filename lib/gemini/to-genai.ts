import type {GenerateContentConfig, GenerateContentParameters, HttpOptions, ToolListUnion} from '@google/genai';

import type {Content, FunctionCall, FunctionDeclaration, FunctionResponse, Part} from '../content.ts';
import {wireCallId} from '../models/call-id.ts';
import type {LlmRequest} from '../models/llm-request.ts';
import {isBlankPart} from './blank-part.ts';
import {toGeminiSchema} from './gemini-schema.ts';

/**
 * A request as genai wants it, without what the target backend refuses: a session may have been made on the other one. The request may be
 * frozen: nothing in it is changed, and what needs no change is not copied.
 *
 * @param abortSignal - of this HTTP request; genai leaves a listener on it
 */
export function toGenai(llmRequest: LlmRequest, model: string, vertexai: boolean, abortSignal: AbortSignal): GenerateContentParameters {
  return {
    model: llmRequest.model ?? model,
    contents: llmRequest.contents.flatMap((content) => cleanContent(content, vertexai) ?? []),
    config: cleanConfig(llmRequest.config, vertexai, abortSignal),
  };
}

function cleanConfig(given: GenerateContentConfig, vertexai: boolean, abortSignal: AbortSignal): GenerateContentConfig {
  const config: GenerateContentConfig = {
    ...given,
    abortSignal,
    // One call is one HTTP request: the run counts calls, and stops between them.
    automaticContinuation: false,
    // Tools are the run's business.
    automaticFunctionCalling: {disable: true},
  };
  // An empty instruction would be sent as an empty part, which a server refuses.
  if (config.systemInstruction === '') delete config.systemInstruction;
  if (config.httpOptions !== undefined) config.httpOptions = cleanHttpOptions(config.httpOptions);
  if (config.tools !== undefined) config.tools = cleanTools(config.tools);
  if (vertexai && config.toolConfig?.includeServerSideToolInvocations !== undefined) {
    const {includeServerSideToolInvocations: _, ...toolConfig} = config.toolConfig;
    config.toolConfig = toolConfig;
  }
  const calling = config.toolConfig?.functionCallingConfig;
  if (!vertexai && calling?.streamFunctionCallArguments !== undefined) {
    const {streamFunctionCallArguments: _, ...functionCallingConfig} = calling;
    config.toolConfig = {...config.toolConfig, functionCallingConfig};
  }
  return config;
}

/** genai's own total timeout kills healthy streams, and its retries cannot be aborted: `callLimits` has taken both over. */
function cleanHttpOptions(given: HttpOptions): HttpOptions {
  const {timeout: _, retryOptions: __, ...httpOptions} = given;
  return httpOptions;
}

/** As copies: genai rewrites `parameters` and `response` of declarations in place. */
export function cleanTools(tools: ToolListUnion): ToolListUnion {
  return tools.map((tool) => {
    if (!('functionDeclarations' in tool) || !tool.functionDeclarations) return tool;
    return {...tool, functionDeclarations: tool.functionDeclarations.map(cleanDeclaration)};
  });
}

function cleanDeclaration(declaration: FunctionDeclaration): FunctionDeclaration {
  const {parametersJsonSchema} = declaration;
  return parametersJsonSchema === undefined
    ? {...declaration}
    : {...declaration, parametersJsonSchema: toGeminiSchema(parametersJsonSchema)};
}

/** A content without what the target backend refuses; nothing where nothing is left. The content is not changed. */
export function cleanContent(content: Content, vertexai: boolean): Content | undefined {
  const parts: Part[] = [];
  let changed = false;
  for (const part of content.parts ?? []) {
    const cleaned = cleanPart(part, vertexai);
    changed ||= cleaned !== part;
    if (cleaned !== undefined) parts.push(cleaned);
  }
  // A content without parts is refused, at once and in every later request of the session.
  if (parts.length === 0) return undefined;
  return changed ? {...content, parts} : content;
}

function cleanPart(part: Part, vertexai: boolean): Part | undefined {
  if (isBlankPart(part)) return undefined;
  // Calls that the server makes for itself exist on the Gemini API only.
  if (vertexai && (part.toolCall !== undefined || part.toolResponse !== undefined)) return undefined;
  const functionCall = part.functionCall && cleanCall(part.functionCall, vertexai);
  const functionResponse = part.functionResponse && cleanResponse(part.functionResponse, vertexai);
  const refused = vertexai && part.partMetadata !== undefined;
  if (functionCall === part.functionCall && functionResponse === part.functionResponse && !refused) return part;
  const cleaned = {...part, ...(functionCall && {functionCall}), ...(functionResponse && {functionResponse})};
  if (refused) delete cleaned.partMetadata;
  return cleaned;
}

function cleanCall(call: FunctionCall, vertexai: boolean): FunctionCall {
  const cleaned = withWireId(call);
  if (vertexai || (cleaned.partialArgs === undefined && cleaned.willContinue === undefined)) return cleaned;
  const {partialArgs: _, willContinue: __, ...rest} = cleaned;
  return rest;
}

function cleanResponse(response: FunctionResponse, vertexai: boolean): FunctionResponse {
  let cleaned = withWireId(response);
  if (!vertexai) return cleaned;
  if (cleaned.willContinue !== undefined) {
    const {willContinue: _, ...rest} = cleaned;
    cleaned = rest;
  }
  if (!cleaned.parts?.some((part) => part.mediaProcessing !== undefined)) return cleaned;
  const parts = cleaned.parts.map(({mediaProcessing: _, ...part}) => part);
  return {...cleaned, parts};
}

/** A server is sent the id that it gave, on the call and on its response alike, and no other. */
function withWireId<T extends {id?: string}>(value: T): T {
  if (value.id === undefined) return value;
  const id = wireCallId(value.id);
  if (id === value.id) return value;
  const copy = {...value};
  if (id === undefined) delete copy.id;
  else copy.id = id;
  return copy;
}
