import type {BaseAgent} from '../agents/base-agent.ts';
import {LlmAgent} from '../agents/llm/llm-agent.ts';
import type {Event} from '../events/event.ts';

/** Who answers the user's next message: the agent that has the conversation, if it can hand it back up to the root; else the root. */
export function agentToAnswer(root: BaseAgent, events: readonly Event[]): BaseAgent {
  return speakers(root, events).findLast((agent) => agent === root || canHandBack(agent)) ?? root;
}

/** Who has had the conversation, in turn. Who has handed it over has it no more, until it is handed back: what comes of it is a callback's, or a late answer's. */
function speakers(root: BaseAgent, events: readonly Event[]): BaseAgent[] {
  const spoken: BaseAgent[] = [];
  const handed = new Set<BaseAgent>();
  /** Who hands over to whom once its calls are answered. */
  const postponed = new Map<BaseAgent, BaseAgent>();
  for (const {author, actions, longRunningToolIds} of events) {
    const agent = author === 'user' ? undefined : root.findAgent(author);
    if (!agent) continue;
    for (const [from, to] of postponed) if (to === agent && postponed.delete(from)) handed.add(from);
    if (!handed.has(agent)) spoken.push(agent);
    const target = actions.transferToAgent === undefined ? undefined : root.findAgent(actions.transferToAgent);
    if (!target) continue;
    if (longRunningToolIds) postponed.set(agent, target);
    else {
      handed.add(agent).delete(target);
      spoken.push(target);
    }
  }
  return spoken;
}

function canHandBack(agent: BaseAgent): boolean {
  for (let at: BaseAgent | undefined = agent; at; at = at.parentAgent) {
    if (!(at instanceof LlmAgent)) return false;
    if (at.parentAgent && at.disallowTransferToParent) return false;
  }
  return true;
}
