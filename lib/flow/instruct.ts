import type {InvocationContext} from '../agents/base-agent.ts';
import {callbackContext} from '../agents/callbacks.ts';
import {asksForArtifact, injectState} from '../agents/llm/instructions.ts';
import type {InstructionProvider, LlmAgentSettings} from '../agents/llm/llm-agent-config.ts';
import type {Content} from '../content.ts';
import type {Context} from '../context/context.ts';
import {expectOption, HookError} from '../errors.ts';
import {appendInstructions, type LlmRequest} from '../models/llm-request.ts';
import {copyJson} from '../schema/json-copy.ts';

/**
 * Adds an agent's instructions to a request: its `staticInstruction`, the `globalInstruction` of its root agent, and its own.
 *
 * Behind a static instruction the others, which may change from request to request, are told by the user: a system instruction that stays as
 * it is can be cached, with all contents that stand before them. On a live connection, whose setup is sent once, they stand in it.
 */
export async function instruct(request: LlmRequest, agent: LlmAgentSettings, ctx: InvocationContext): Promise<void> {
  const {staticInstruction, instruction} = agent;
  const {rootAgent} = ctx.agent;
  const {globalInstruction = ''} = rootAgent as Partial<LlmAgentSettings>;
  const texts = [
    await textOf(ctx, {hook: 'globalInstruction', owner: rootAgent.name, instruction: globalInstruction}),
    await textOf(ctx, {hook: 'instruction', owner: agent.name, instruction}),
  ].filter((text) => text !== '');
  if (staticInstruction) request.config.systemInstruction = copyJson(staticInstruction);
  if (texts.length === 0) return;
  if (!staticInstruction || ctx.run.live) appendInstructions(request, texts);
  else request.contents.splice(startOfMessage(request.contents), 0, {role: 'user', parts: [{text: texts.join('\n\n')}]});
}

interface Instruction {
  readonly hook: 'globalInstruction' | 'instruction';
  readonly owner: string;
  readonly instruction: string | InstructionProvider;
}

async function textOf(ctx: InvocationContext, {hook, owner, instruction}: Instruction): Promise<string> {
  const {life} = ctx.run;
  if (typeof instruction === 'string') {
    // What only the state says is the same at every replay.
    if (!asksForArtifact(instruction)) return injectState(instruction, callbackContext(ctx.source, {life}).context);
    return inStep(ctx, `${hook} of ${owner}`, (context) => injectState(instruction, context));
  }
  return inStep(ctx, `${hook} of ${owner}`, async (context) => {
    try {
      const text: unknown = await instruction(context);
      expectOption(typeof text === 'string', hook, 'a function that gives a string', text);
      return text;
    } catch (error) {
      throw new HookError(hook, owner, error);
    }
  });
}

function inStep(ctx: InvocationContext, name: string, run: (context: Context) => Promise<string>): Promise<string> {
  const {steps, life, open} = ctx.run;
  return steps.step(name, async () => {
    life.throwIfEnded();
    const {context} = callbackContext(ctx.source, {life});
    const leave = open.enter({name, revoke: () => context.revoke()});
    try {
      return await run(context);
    } finally {
      leave();
      context.revoke();
    }
  });
}

/** Where the user's latest words begin; the end where something else stands there, such as the responses of a call. */
function startOfMessage(contents: readonly Content[]): number {
  return contents.findLastIndex(({role, parts}) => role !== 'user' || parts?.some((part) => part.functionResponse)) + 1;
}
