import type {BaseAgent} from '../agents/base-agent.ts';
import type {Diagnostic} from '../agents/diagnostic.ts';
import {LlmAgent} from '../agents/llm/llm-agent.ts';
import {within, type Bound} from '../async/within.ts';
import {messageOf} from '../errors.ts';
import {BaseToolset} from '../tools/base-toolset.ts';

/** Closes every toolset of an agent tree, each once. One that fails, or is not done by the bound, is a diagnostic. */
export async function closeToolsets(root: BaseAgent, diagnose: (diagnostic: Diagnostic) => void, bound: Bound): Promise<void> {
  const toolsets = new Set(toolsetsOf(root));
  await Promise.all(
    [...toolsets].map(async (toolset) => {
      const {name} = toolset.constructor;
      const closing = (async () => toolset.close())().catch((cause: unknown) => {
        diagnose({code: 'CLOSE_FAILED', name, cause, message: `The toolset ${name} failed to close: ${messageOf(cause)}`});
      });
      if (await within(closing, bound)) return;
      diagnose({code: 'WORK_ABANDONED', name, message: `The toolset ${name} did not close in time and was left behind`});
    }),
  );
}

function toolsetsOf(agent: BaseAgent): BaseToolset[] {
  const own = agent instanceof LlmAgent ? agent.tools.filter((tool) => tool instanceof BaseToolset) : [];
  return [...own, ...agent.subAgents.flatMap(toolsetsOf)];
}
