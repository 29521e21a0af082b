import {InvalidOptionError} from '../errors.ts';

/** An agent, as far as its place in a tree goes. */
interface TreeNode {
  readonly name: string;
  readonly subAgents: readonly TreeNode[];
  parentAgent: TreeNode | undefined;
}

/**
 * Puts agents below a parent, all or none.
 *
 * @throws {@link InvalidOptionError} for what is no agent, one that has a parent, or two of one name in the tree
 */
export function adopt<A extends TreeNode>(
  parent: {readonly name: string} & TreeNode,
  subAgents: readonly A[],
  isAgent: (value: unknown) => boolean,
): readonly A[] {
  const option = `${parent.name}.subAgents`;
  if (!Array.isArray(subAgents)) throw new InvalidOptionError(option, 'an array of agents', subAgents);
  for (const agent of subAgents as readonly A[]) {
    if (!isAgent(agent)) throw new InvalidOptionError(option, 'an array of agents', agent);
    if (agent.parentAgent) {
      throw new InvalidOptionError(option, `agents without a parent (\`${agent.name}\` is below \`${agent.parentAgent.name}\`)`, agent);
    }
  }
  const names = new Set([parent.name]);
  for (const name of (subAgents as readonly A[]).flatMap(namesOf)) {
    if (names.has(name)) throw new InvalidOptionError(option, 'a tree without two agents of one name', name);
    names.add(name);
  }
  for (const agent of subAgents as readonly A[]) agent.parentAgent = parent;
  return Object.freeze([...(subAgents as readonly A[])]);
}

function namesOf(agent: TreeNode): string[] {
  return [agent.name, ...agent.subAgents.flatMap(namesOf)];
}
