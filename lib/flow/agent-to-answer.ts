import type {BaseAgent} from '../agents/base-agent.ts';
import {LlmAgent} from '../agents/llm/llm-agent.ts';
import type {Event} from '../events/event.ts';

/** Who answers the user's next message: the agent that spoke last, if it can hand the conversation back up to the root; else the root. */
export function agentToAnswer(root: BaseAgent, events: readonly Event[]): BaseAgent {
  const authors = events.toReversed().flatMap(({author}) => (author === 'user' ? [] : (root.findAgent(author) ?? [])));
  return authors.find((agent) => agent === root || canHandBack(agent)) ?? root;
}

function canHandBack(agent: BaseAgent): boolean {
  for (let at: BaseAgent | undefined = agent; at; at = at.parentAgent) {
    if (!(at instanceof LlmAgent)) return false;
    if (at.parentAgent && at.disallowTransferToParent) return false;
  }
  return true;
}
