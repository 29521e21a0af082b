import type {Content, GenerateContentConfig} from '../../content.ts';
import {HookError} from '../../errors.ts';
import {appendFunctionDeclarations, appendInstructions, type LlmRequest} from '../../models/llm-request.ts';
import {copyJson} from '../../schema/json-copy.ts';
import {State} from '../../sessions/state.ts';
import type {InvocationContext} from '../base-agent.ts';
import {callbackContext} from '../callbacks.ts';
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
  const given = instructionOf(agent, ctx);
  const instruction = typeof given === 'string' ? given : await given;
  if (instruction) appendInstructions(request, [instruction]);
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

function instructionOf(agent: LlmAgentSettings, ctx: InvocationContext): string | Promise<string> {
  const {instruction} = agent;
  if (typeof instruction === 'string') {
    if (!instruction.includes('{')) return instruction;
    return import('sluice/flow').then(({injectState}) =>
      injectState(instruction, {state: new State(ctx.run.session.state), agentName: agent.name}),
    );
  }
  return ctx.run.steps.step(`instruction of ${agent.name}`, async () => {
    ctx.run.life.throwIfEnded();
    const {context} = callbackContext(ctx.source, {life: ctx.run.life});
    const leave = ctx.run.open.enter({name: `instruction of ${agent.name}`, revoke: () => context.revoke()});
    try {
      return await instruction(context);
    } catch (error) {
      throw new HookError('instruction', agent.name, error);
    } finally {
      leave();
      context.revoke();
    }
  });
}
