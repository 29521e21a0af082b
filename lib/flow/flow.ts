import type {InvocationContext} from '../agents/base-agent.ts';
import type {AgentFlow} from '../agents/llm/agent-flow.ts';
import type {LlmAgentSettings} from '../agents/llm/llm-agent-config.ts';
import type {LlmAgent} from '../agents/llm/llm-agent.ts';
import {fixedToolbox, type Toolbox} from '../agents/llm/toolbox.ts';
import type {Event} from '../events/event.ts';
import {appendInstructions, type LlmRequest} from '../models/llm-request.ts';
import {BaseTool} from '../tools/base-tool.ts';
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
  if (parts?.parent !== agent.parentAgent) known.set(agent, (parts = partsOf(agent)));
  return new Flow(agent, parts ?? partsOf(agent));
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

  resume(
    settings: LlmAgentSettings,
    ctx: InvocationContext,
    listToolbox: () => Promise<Toolbox>,
  ): AsyncGenerator<Event, boolean, undefined> {
    return resume(settings, ctx, async () => this.toolbox ?? listToolbox());
  }

  shape(request: LlmRequest): void {
    if (this.#transfer) appendInstructions(request, [this.#transfer.instruction]);
    this.#output?.shape(request);
  }

  async finish(reply: Event): Promise<Event | undefined> {
    return this.#output ? this.#output.finish(reply) : reply;
  }

  next(ctx: InvocationContext, answer: Event): AsyncGenerator<Event, void, undefined> | undefined {
    return this.#transfer?.target(answer)?.runAsync(ctx) ?? this.#output?.next(ctx, answer);
  }
}
