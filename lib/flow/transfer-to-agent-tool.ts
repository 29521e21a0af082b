import type {FunctionDeclaration} from '../content.ts';
import {describe} from '../errors.ts';
import {InvalidArgumentsError} from '../schema/invalid-arguments-error.ts';
import {BaseTool, type RunAsyncToolRequest} from '../tools/base-tool.ts';

const DESCRIPTION = 'Hands the conversation over to another agent, which answers from then on.';

/** With it the model hands the conversation over to one of these agents. */
export class TransferToAgentTool extends BaseTool {
  readonly #declaration: FunctionDeclaration;
  readonly #names: readonly string[];

  constructor(names: readonly string[]) {
    super({name: 'transfer_to_agent', description: DESCRIPTION});
    this.#names = names;
    const agentName = {type: 'string', description: 'The name of the agent.', enum: names};
    this.#declaration = Object.freeze({
      name: this.name,
      description: DESCRIPTION,
      parametersJsonSchema: {type: 'object', properties: {agentName}, required: ['agentName']},
    });
  }

  override _getDeclaration(): FunctionDeclaration {
    return this.#declaration;
  }

  override validateArgs(args: unknown): Record<string, unknown> {
    const {agentName} = (args ?? {}) as {agentName?: unknown};
    if (typeof agentName === 'string' && this.#names.includes(agentName)) return {agentName};
    throw new InvalidArgumentsError([`agentName: must be one of ${JSON.stringify(this.#names)}, got ${describe(agentName)}`]);
  }

  override async runAsync({args, toolContext}: RunAsyncToolRequest): Promise<unknown> {
    toolContext.actions.transferToAgent = String(args['agentName']);
    return {status: 'transferred'};
  }
}
