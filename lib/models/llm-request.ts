import type {Content, FunctionDeclaration, GenerateContentConfig, LiveConnectConfig} from '../content.ts';

/**
 * What a model is asked. `contents` always pairs every function call with its response.
 *
 * The array and `config` belong to this request and may be changed by a hook. The contents in it are copies where a hook can see
 * them, and frozen records of the session otherwise.
 */
export interface LlmRequest {
  /** The model's name; the model's own where it is missing. */
  model?: string;
  contents: Content[];
  config: GenerateContentConfig;
  /** What only a live connection has: modalities, voice, transcription, resumption. Missing for `generateContentAsync`. */
  liveConnectConfig?: LiveConnectConfig;
}

/** Adds instructions to a request's system instruction, as paragraphs after what stands there. */
export function appendInstructions(llmRequest: LlmRequest, instructions: readonly string[]): void {
  const added = instructions.join('\n\n');
  const present = llmRequest.config.systemInstruction;
  if (present === undefined) llmRequest.config.systemInstruction = added;
  else if (typeof present === 'string') llmRequest.config.systemInstruction = `${present}\n\n${added}`;
  else {
    const parts = isContent(present)
      ? (present.parts ?? [])
      : [present].flat().map((part) => (typeof part === 'string' ? {text: part} : part));
    llmRequest.config.systemInstruction = {role: 'user', parts: [...parts, {text: added}]};
  }
}

/** Adds function declarations to a request, all in one tool, as Gemini wants them. */
export function appendFunctionDeclarations(llmRequest: LlmRequest, declarations: readonly FunctionDeclaration[]): void {
  if (declarations.length === 0) return;
  const tools = [...(llmRequest.config.tools ?? [])];
  const at = tools.findIndex((tool) => 'functionDeclarations' in tool);
  const present = at < 0 ? undefined : tools[at];
  if (present && 'functionDeclarations' in present) {
    tools[at] = {...present, functionDeclarations: [...(present.functionDeclarations ?? []), ...declarations]};
  } else tools.push({functionDeclarations: [...declarations]});
  llmRequest.config.tools = tools;
}

function isContent(value: object): value is Content {
  return !Array.isArray(value) && 'parts' in value;
}
