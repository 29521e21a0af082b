import type {FunctionDeclaration} from '../../content.ts';
import {InvalidOptionError} from '../../errors.ts';
import type {BaseTool} from '../../tools/base-tool.ts';
import type {BaseToolset} from '../../tools/base-toolset.ts';
import type {InvocationContext} from '../base-agent.ts';
import {callbackContext} from '../callbacks.ts';

/** What the loop knows of a tool without asking it again: plain JSON, the same at every replay. */
export interface ToolFacts {
  readonly name: string;
  readonly isLongRunning: boolean;
  readonly timeoutMs: number;
  readonly exclusive: boolean;
  readonly declaration?: FunctionDeclaration | undefined;
}

/** The tools of one step: facts for the loop, and the tools themselves for the calls. */
export interface Toolbox {
  readonly facts: readonly ToolFacts[];
  /** The tools, listed anew where this attempt has only their facts. */
  load(): Promise<readonly BaseTool[]>;
}

/** Names what an agent can call, and refuses two tools of one name. */
export function toolFacts(owner: string, tools: readonly BaseTool[]): ToolFacts[] {
  const names = new Set<string>();
  return tools.map((tool) => {
    if (names.has(tool.name)) throw new InvalidOptionError(`${owner}.tools`, 'tools of different names', tool.name);
    names.add(tool.name);
    const declaration = tool._getDeclaration();
    const {name, isLongRunning, timeoutMs, exclusive} = tool;
    return {name, isLongRunning, timeoutMs, exclusive, ...(declaration && {declaration})};
  });
}

/** A toolbox of tools that do not change. */
export function fixedToolbox(owner: string, tools: readonly BaseTool[]): Toolbox {
  return {facts: toolFacts(owner, tools), load: async () => tools};
}

/** Lists tools and toolsets together, in the order in which the agent names them, however long each takes to answer. */
export async function listToolbox(ctx: InvocationContext, unions: readonly (BaseTool | BaseToolset)[]): Promise<Toolbox> {
  let tools: Promise<readonly BaseTool[]> | undefined;
  const load = (): Promise<readonly BaseTool[]> => (tools ??= loadAll(ctx, unions));
  const facts = await ctx.run.steps.step(`tools of ${ctx.agentName}`, async () => toolFacts(ctx.agentName, await load()));
  return {facts, load};
}

async function loadAll(ctx: InvocationContext, unions: readonly (BaseTool | BaseToolset)[]): Promise<readonly BaseTool[]> {
  const {context} = callbackContext(ctx, {abortSignal: ctx.abortSignal});
  const leave = ctx.run.open.enter({name: `toolsets of ${ctx.agentName}`, revoke: () => context.revoke()});
  try {
    const lists = await Promise.all(unions.map(async (union) => ('getTools' in union ? union.getTools(context) : [union])));
    return lists.flat();
  } finally {
    leave();
    context.revoke();
  }
}
