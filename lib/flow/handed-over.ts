import type {BaseAgent, InvocationContext} from '../agents/base-agent.ts';
import {expectOption} from '../errors.ts';
import type {Event} from '../events/event.ts';

/**
 * Whom the calls of a batch hand over to. A tool of the program's own may name any agent of the tree; what the model may name is checked
 * by `transfer_to_agent`. Nothing where they name nobody else.
 *
 * @throws {@link InvalidOptionError} where the tree has no agent of that name
 */
export function handedOver({agent}: InvocationContext, {actions: {transferToAgent: name}}: Event): BaseAgent | undefined {
  if (name === undefined) return undefined;
  const target = agent.rootAgent.findAgent(name);
  expectOption(target !== undefined, 'actions.transferToAgent', `the name of an agent in the tree of \`${agent.name}\``, name);
  return target === agent ? undefined : target;
}
