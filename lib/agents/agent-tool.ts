import type {FunctionDeclaration} from '../content.ts';
import {checkOptions, isBoolean, optional} from '../schema/options.ts';
import {compileParameters, type Parameters, type ParametersSchema} from '../schema/parameters.ts';
import {validateArguments, type Validated} from '../schema/validate-arguments.ts';
import {BaseTool, type RunAsyncToolRequest} from '../tools/base-tool.ts';
import {runAgentCall} from './agent-tool-run.ts';
import {BaseAgent} from './base-agent.ts';

/** What an `AgentTool` is made of. */
export interface AgentToolConfig {
  readonly agent: BaseAgent;
  /** `true`: the run ends with the agent's answer, and the model is not asked about it. Default `false`. */
  readonly skipSummarization?: boolean | undefined;
  /** `true`: the reader sees what the agent does, each Event as the progress of the call, which no `onEventCallback` sees. Default `false`. */
  readonly streamEvents?: boolean | undefined;
}

/**
 * An agent as a tool: each call runs it in a session of its own, which begins with the caller's state. What it writes to that state is
 * merged into the caller's, once, with the response; files are those of the caller.
 *
 * The call has no deadline of its own; it ends with the run. Its model calls count for the run's `maxLlmCalls`, and while it waits for its
 * agent it takes no place from other tools. An agent that fails, or that waits for an answer, is an error of the call.
 *
 * @example
 * ```ts
 * import {AgentTool, LlmAgent} from 'sluice';
 *
 * const translator = new LlmAgent({name: 'translator', description: 'Translates into French.', model: 'gemini-2.5-flash'});
 * const clerk = new LlmAgent({name: 'clerk', model: 'gemini-2.5-flash', tools: [new AgentTool({agent: translator})]});
 * ```
 */
export class AgentTool extends BaseTool {
  readonly agent: BaseAgent;
  readonly #skipSummarization: boolean;
  readonly #streamEvents: boolean;
  readonly #parameters: Parameters;

  /** @throws {@link InvalidOptionError} for an option that cannot be used */
  constructor(config: AgentToolConfig) {
    checkOptions<AgentToolConfig>('agentTool', config, {
      agent: {expected: 'an agent', accepts: (value) => value instanceof BaseAgent},
      skipSummarization: optional(isBoolean),
      streamEvents: optional(isBoolean),
    });
    const {agent, skipSummarization = false, streamEvents = false} = config;
    super({name: agent.name, description: agent.description, timeoutMs: Infinity});
    this.agent = agent;
    this.#skipSummarization = skipSummarization;
    this.#streamEvents = streamEvents;
    const {inputSchema = REQUEST} = agent as {inputSchema?: ParametersSchema};
    this.#parameters = compileParameters(inputSchema, `${agent.name}.inputSchema`);
  }

  override _getDeclaration(): FunctionDeclaration {
    return {name: this.name, description: this.description, ...this.#parameters.declaration};
  }

  override validateArgs(args: unknown): Validated {
    return validateArguments(this.#parameters, args);
  }

  override async runAsync({args, toolContext}: RunAsyncToolRequest): Promise<unknown> {
    if (this.#skipSummarization) toolContext.actions.skipSummarization = true;
    const {request} = args;
    const text = Object.keys(args).length === 1 && typeof request === 'string' ? request : JSON.stringify(args);
    return runAgentCall({agent: this.agent, toolContext, text, streamEvents: this.#streamEvents});
  }
}

const REQUEST: ParametersSchema = {
  type: 'object',
  properties: {request: {type: 'string', description: 'What the agent is to do, with all it has to know.'}},
  required: ['request'],
};
