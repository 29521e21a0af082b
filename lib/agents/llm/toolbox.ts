import type {FunctionDeclaration} from '../../content.ts';
import {expectOption} from '../../errors.ts';
import {BaseTool, type ResponseScheduling} from '../../tools/base-tool.ts';
import type {BaseToolset} from '../../tools/base-toolset.ts';
import type {InvocationContext} from '../base-agent.ts';
import {callbackContext} from '../callbacks.ts';

/** What the loop knows of a tool without asking it again: plain JSON, the same at every replay. */
export interface ToolFacts {
  readonly name: string;
  readonly isLongRunning: boolean;
  readonly exclusive: boolean;
  /** Whether it may change requests, beyond its declaration. */
  readonly shapesRequests: boolean;
  readonly declaration?: FunctionDeclaration | undefined;
  readonly responseScheduling?: ResponseScheduling | undefined;
}

/** The tools of one step: facts for the loop, and the tools themselves for the calls. */
export class Toolbox {
  readonly declarations: readonly FunctionDeclaration[];
  /** Whether a tool may change requests, beyond its declaration. */
  readonly shapesRequests: boolean;
  readonly #facts: ReadonlyMap<string, ToolFacts>;
  readonly #load: () => Promise<readonly BaseTool[]>;
  #tools: ReadonlyMap<string, BaseTool> | undefined;

  /** @param load - gives the tools, listed anew where this attempt at the run has only their facts */
  constructor(facts: readonly ToolFacts[], load: () => Promise<readonly BaseTool[]>) {
    this.#facts = new Map(facts.map((it) => [it.name, it]));
    this.declarations = facts.flatMap(({declaration}) => declaration ?? []);
    this.shapesRequests = facts.some((it) => it.shapesRequests);
    this.#load = load;
  }

  get names(): string[] {
    return [...this.#facts.keys()];
  }

  /** What is known of a tool; nothing where there is none of that name. */
  factsOf(name: string | undefined): ToolFacts | undefined {
    return this.#facts.get(name ?? '');
  }

  /** A tool by name; a promise where the tools have to be listed anew. */
  find(name: string | undefined): BaseTool | undefined | Promise<BaseTool | undefined> {
    if (!this.#facts.has(name ?? '')) return undefined;
    return this.#tools ? this.#tools.get(name ?? '') : this.#listAndFind(name);
  }

  async #listAndFind(name: string | undefined): Promise<BaseTool | undefined> {
    this.#tools = new Map((await this.#load()).map((tool) => [tool.name, tool]));
    return this.#tools.get(name ?? '');
  }

  async list(): Promise<readonly BaseTool[]> {
    return this.#load();
  }
}

/**
 * A toolbox of tools that do not change.
 *
 * @throws {@link InvalidOptionError} for two tools of one name
 */
export function fixedToolbox(owner: string, tools: readonly BaseTool[]): Toolbox {
  return new Toolbox(toolFacts(owner, tools), async () => tools);
}

/** Lists tools and toolsets together, in the order in which the agent names them, however long each takes to answer. */
export async function listToolbox(ctx: InvocationContext, unions: readonly (BaseTool | BaseToolset)[]): Promise<Toolbox> {
  let tools: Promise<readonly BaseTool[]> | undefined;
  const load = (): Promise<readonly BaseTool[]> => (tools ??= loadAll(ctx, unions));
  const facts = await ctx.run.steps.step(`tools of ${ctx.agentName}`, async () => toolFacts(ctx.agentName, await load()));
  return new Toolbox(facts, load);
}

async function loadAll(ctx: InvocationContext, unions: readonly (BaseTool | BaseToolset)[]): Promise<readonly BaseTool[]> {
  const {context} = callbackContext(ctx.source, {life: ctx.run.life});
  const leave = ctx.run.open.enter({name: `toolsets of ${ctx.agentName}`, revoke: () => context.revoke()});
  try {
    const lists = await Promise.all(unions.map(async (union) => ('getTools' in union ? union.getTools(context) : [union])));
    return lists.flat();
  } finally {
    leave();
    context.revoke();
  }
}

function toolFacts(owner: string, tools: readonly BaseTool[]): ToolFacts[] {
  const names = new Set<string>();
  return tools.map((tool) => {
    const {name, isLongRunning, exclusive, responseScheduling} = tool;
    expectOption(!names.has(name), `${owner}.tools`, 'tools of different names', name);
    names.add(name);
    const declaration = tool._getDeclaration();
    const shapesRequests = tool.processLlmRequest !== BaseTool.prototype.processLlmRequest;
    return {
      name,
      isLongRunning,
      exclusive,
      shapesRequests,
      ...(declaration && {declaration}),
      ...(responseScheduling && {responseScheduling}),
    };
  });
}
