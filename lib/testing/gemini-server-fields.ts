import {liveMessages, liveVertexOnly} from './gemini-live-server-fields.ts';

/**
 * What a request may hold: per message, its fields. `name` is a scalar or an enum, `name:Type` a message, `:map<Type>` a map of messages,
 * `:*` any JSON, `:{}` a JSON object; `[]` after the name marks a list.
 *
 * @see {@link https://ai.google.dev/api/generate-content}
 */
const messages: Readonly<Record<string, string>> = {
  GenerateContentRequest:
    'model contents[]:Content systemInstruction:Content tools[]:Tool toolConfig:ToolConfig safetySettings[]:SafetySetting ' +
    'generationConfig:GenerationConfig cachedContent serviceTier store continuationToken labels:*',
  Content: 'parts[]:Part role',
  Part:
    'text thought thoughtSignature inlineData:Blob fileData:FileData functionCall:FunctionCall functionResponse:FunctionResponse ' +
    'executableCode:ExecutableCode codeExecutionResult:CodeExecutionResult toolCall:* toolResponse:* videoMetadata:VideoMetadata ' +
    'mediaResolution:* partMetadata:{} audioTranscription:* mediaProcessing:* speechMetadata:*',
  Blob: 'mimeType data displayName',
  FileData: 'mimeType fileUri displayName',
  VideoMetadata: 'startOffset endOffset fps',
  FunctionCall: 'id name args:{}',
  FunctionResponse: 'id name response:{} parts[]:FunctionResponsePart scheduling willContinue',
  FunctionResponsePart: 'inlineData:Blob fileData:FileData mediaProcessing:*',
  ExecutableCode: 'id language code',
  CodeExecutionResult: 'id outcome output',
  Tool:
    'functionDeclarations[]:FunctionDeclaration googleSearch:* googleSearchRetrieval:* codeExecution:* urlContext:* googleMaps:* ' +
    'computerUse:* fileSearch:* mcpServers[]:*',
  FunctionDeclaration: 'name description behavior parameters:Schema parametersJsonSchema:* response:Schema responseJsonSchema:*',
  Schema:
    'type format title description nullable enum[] items:Schema maxItems minItems properties:map<Schema> required[] minProperties ' +
    'maxProperties minLength maxLength pattern minimum maximum anyOf[]:Schema default:* example:* propertyOrdering[]',
  ToolConfig: 'functionCallingConfig:FunctionCallingConfig retrievalConfig:* includeServerSideToolInvocations',
  FunctionCallingConfig: 'mode allowedFunctionNames[]',
  SafetySetting: 'category threshold',
  GenerationConfig:
    'temperature topP topK candidateCount maxOutputTokens stopSequences[] presencePenalty frequencyPenalty seed responseMimeType ' +
    'responseSchema:Schema responseJsonSchema:* responseFormat:* responseLogprobs logprobs responseModalities[] mediaResolution speechConfig:* ' +
    'thinkingConfig:ThinkingConfig imageConfig:* audioTranscriptionConfig:* enableEnhancedCivicAnswers enableAffectiveDialog translationConfig:*',
  ThinkingConfig: 'includeThoughts thinkingBudget thinkingLevel',
  ...liveMessages,
};

/** What Vertex takes besides. */
const vertexOnly: Readonly<Record<string, string>> = {
  GenerateContentRequest: 'modelArmorConfig:* generationOutputConfig:*',
  FunctionCall: 'partialArgs[]:* willContinue',
  FunctionCallingConfig: 'streamFunctionCallArguments',
  SafetySetting: 'method',
  GenerationConfig: 'audioTimestamp routingConfig:* modelSelectionConfig:*',
  Tool: 'retrieval:* enterpriseWebSearch:* exaAiSearch:* parallelAiSearch:*',
  ...liveVertexOnly,
};

/** One field: the type of what it holds, and whether it is a list. */
export interface Field {
  readonly type: string;
  readonly list: boolean;
}

const tables = {gemini: new Map<string, Map<string, Field>>(), vertex: new Map<string, Map<string, Field>>()};

/** The fields of a message, by camel-case name. */
export function fieldsOf(message: string, backend: 'gemini' | 'vertex'): ReadonlyMap<string, Field> {
  const known = tables[backend].get(message);
  if (known) return known;
  const listed = `${messages[message] ?? ''} ${backend === 'vertex' ? (vertexOnly[message] ?? '') : ''}`.trim().split(/\s+/);
  const fields = new Map(listed.map((field) => readField(field)));
  tables[backend].set(message, fields);
  return fields;
}

function readField(field: string): [name: string, field: Field] {
  const [name = '', type = ''] = field.split(':');
  const list = name.endsWith('[]');
  return [list ? name.slice(0, -2) : name, {type, list}];
}
