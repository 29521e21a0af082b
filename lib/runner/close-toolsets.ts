import type {BaseAgent} from '../agents/base-agent.ts';
import type {Diagnostic} from '../agents/diagnostic.ts';
import {LlmAgent} from '../agents/llm/llm-agent.ts';
import {messageOf} from '../errors.ts';
import {BaseToolset} from '../tools/base-toolset.ts';

/** Closes every toolset of an agent tree, each once. One that fails is a diagnostic. */
export async function closeToolsets(root: BaseAgent, diagnose: (diagnostic: Diagnostic) => void): Promise<void> {
  const toolsets = new Set(toolsetsOf(root));
  await Promise.all(
    [...toolsets].map(async (toolset) => {
      try {
        await toolset.close();
      } catch (cause) {
        diagnose({code: 'CLOSE_FAILED', name: toolset.constructor.name, cause, message: `A toolset failed to close: ${messageOf(cause)}`});
      }
    }),
  );
}

function toolsetsOf(agent: BaseAgent): BaseToolset[] {
  const own = agent instanceof LlmAgent ? agent.tools.filter((tool) => tool instanceof BaseToolset) : [];
  return [...own, ...agent.subAgents.flatMap(toolsetsOf)];
}
