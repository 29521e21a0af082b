import type {Content, GenerateContentConfig} from '../../content.ts';
import {appendFunctionDeclarations, appendInstructions, type LlmRequest} from '../../models/llm-request.ts';
import {copyJson} from '../../schema/json-copy.ts';
import type {InvocationContext} from '../base-agent.ts';
import type {LlmAgentSettings} from './llm-agent-config.ts';
import type {Toolbox} from './toolbox.ts';

/** The request of one step: instruction, history and declarations. */
export async function buildRequest(
  agent: LlmAgentSettings,
  ctx: InvocationContext,
  {contents, toolbox, step}: {contents: Content[]; toolbox: Toolbox; step: number},
): Promise<LlmRequest> {
  // A hook may change what it is shown; without one the session's own records go out, and nothing is copied.
  const isShown = toolbox.shapesRequests || agent.beforeModelCallback.length > 0 || agent.onModelErrorCallback.length > 0;
  const request: LlmRequest = {
    model: agent.canonicalModel.model,
    contents: isShown ? contents.map((content) => copyJson(content)) : contents,
    config: stepConfig(isShown ? copyJson(agent.generateContentConfig) : agent.generateContentConfig, step),
  };
  const {instruction, staticInstruction} = agent;
  const {globalInstruction} = ctx.agent.rootAgent as Partial<LlmAgentSettings>;
  const isText = typeof instruction === 'string' && !instruction.includes('{') && !globalInstruction && !staticInstruction;
  if (!isText) await (await import('sluice/flow')).instruct(request, agent, ctx);
  else if (instruction) appendInstructions(request, [instruction]);
  appendFunctionDeclarations(request, toolbox.declarations);
  return request;
}

/** The agent's configuration, as a record of the request's own. */
function stepConfig(given: GenerateContentConfig | undefined, step: number): GenerateContentConfig {
  const config = {...given};
  // In mode ANY the model must call a function every time, so a loop would never end: it holds for the first step only.
  if (step > 0 && config.toolConfig?.functionCallingConfig?.mode === 'ANY') {
    const {functionCallingConfig: _dropped, ...toolConfig} = config.toolConfig;
    config.toolConfig = toolConfig;
  }
  return config;
}
