import type {InvocationContext} from '../agents/base-agent.ts';
import type {AgentFlow} from '../agents/llm/agent-flow.ts';
import type {LlmAgentSettings} from '../agents/llm/llm-agent-config.ts';
import type {LlmAgent} from '../agents/llm/llm-agent.ts';
import {fixedToolbox, type Toolbox} from '../agents/llm/toolbox.ts';
import type {Event} from '../events/event.ts';
import {appendInstructions, type LlmRequest} from '../models/llm-request.ts';
import {BaseTool} from '../tools/base-tool.ts';
import {handedOver} from './handed-over.ts';
import {OutputFormat} from './output-format.ts';
import {OutputRun} from './output-run.ts';
import {resume} from './resumption.ts';
import {Transfer} from './transfer.ts';

/** What does not change from run to run. An agent gets its parent when that is made, which may be between two runs. */
interface AgentParts {
  readonly transfer: Transfer | undefined;
  readonly format: OutputFormat | undefined;
  readonly tools: readonly BaseTool[];
  readonly toolbox: Toolbox | undefined;
  readonly parent: unknown;
}

const known = new WeakMap<LlmAgent, AgentParts>();

/** What one run of this agent has to do besides. */
export function flowOf(agent: LlmAgent): AgentFlow {
  let parts = known.get(agent);
  if (!parts || parts.parent !== agent.parentAgent) known.set(agent, (parts = partsOf(agent)));
  return new Flow(agent, parts);
}

function partsOf(agent: LlmAgent): AgentParts {
  const transfer = Transfer.of(agent);
  const {outputFormat, parentAgent: parent} = agent;
  const hasTools = agent.tools.length > 0 || transfer !== undefined;
  const format = outputFormat && new OutputFormat(outputFormat, hasTools);
  const tools = [...(transfer ? [transfer.tool] : []), ...(format?.tools ?? [])];
  const all = [...agent.tools, ...tools];
  const fixed = all.filter((tool) => tool instanceof BaseTool);
  return {transfer, format, tools, parent, toolbox: fixed.length === all.length ? fixedToolbox(agent.name, fixed) : undefined};
}

class Flow implements AgentFlow {
  readonly tools: readonly BaseTool[];
  readonly toolbox: Toolbox | undefined;
  readonly #transfer: Transfer | undefined;
  readonly #output: OutputRun | undefined;

  constructor(agent: LlmAgent, {transfer, format, tools, toolbox}: AgentParts) {
    this.tools = tools;
    this.toolbox = toolbox;
    this.#transfer = transfer;
    this.#output = format && new OutputRun(agent, format);
  }

  async *resume(
    settings: LlmAgentSettings,
    ctx: InvocationContext,
    listToolbox: () => Promise<Toolbox>,
  ): AsyncGenerator<Event, boolean, undefined> {
    const {goesOn, batches} = yield* resume(settings, ctx, async () => this.toolbox ?? listToolbox());
    for (const batch of batches) {
      const next = await this.next(ctx, batch);
      if (next) yield* next;
      if (next || batch.actions.skipSummarization) return true;
    }
    return !goesOn;
  }

  shape(request: LlmRequest): void {
    if (this.#transfer) appendInstructions(request, [this.#transfer.instruction]);
    this.#output?.shape(request);
  }

  async finish(reply: Event): Promise<Event | undefined> {
    return this.#output ? this.#output.finish(reply) : reply;
  }

  async next(ctx: InvocationContext, answer: Event): Promise<AsyncGenerator<Event, void, undefined> | undefined> {
    return handedOver(ctx, answer)?.runAsync(ctx) ?? this.#output?.next(ctx, answer);
  }
}
