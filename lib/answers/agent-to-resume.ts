/** An agent, as far as its place in a tree goes. */
export interface TreeNode<A> {
  readonly parentAgent: A | undefined;
  readonly resumesSubAgents?: boolean;
  findAgent(name: string): A | undefined;
}

/** Who goes on when the answer to an agent's call comes: the topmost workflow that the agent runs in, else the agent itself. */
export function agentToResume<A extends TreeNode<A>>(root: A, author: string): A | undefined {
  let agent = root.findAgent(author);
  for (let at = agent; at; at = at === root ? undefined : at.parentAgent) if (at.resumesSubAgents) agent = at;
  return agent;
}
