import type {BaseAgent} from '../agents/base-agent.ts';
import {LlmAgent} from '../agents/llm/llm-agent.ts';
import type {Event} from '../events/event.ts';
import {BaseLlm} from '../models/base-llm.ts';
import {TransferToAgentTool} from './transfer-to-agent-tool.ts';

/** How an agent hands the conversation over to others. */
export class Transfer {
  readonly tool: TransferToAgentTool;
  readonly instruction: string;
  readonly #targets: readonly BaseAgent[];

  constructor(targets: readonly BaseAgent[], parent: BaseAgent | undefined) {
    this.#targets = targets;
    this.tool = new TransferToAgentTool(targets.map(({name}) => name));
    this.instruction = instructionFor(targets, this.tool.name, parent && targets.includes(parent) ? parent : undefined);
  }

  /** That of an agent; nothing where there is nobody to hand over to. */
  static of(agent: LlmAgent): Transfer | undefined {
    return Transfer.#to(targetsOf(agent), agent);
  }

  /** The same in a live run, where only those can take over whose model has live connections. */
  static ofLive(agent: BaseAgent): Transfer | undefined {
    return agent instanceof LlmAgent ? Transfer.#to(targetsOf(agent).filter(isLive), agent) : undefined;
  }

  static #to(targets: readonly BaseAgent[], {parentAgent}: BaseAgent): Transfer | undefined {
    return targets.length > 0 ? new Transfer(targets, parentAgent) : undefined;
  }

  /** The agent that the responses of a batch hand over to. */
  target({actions}: Event): BaseAgent | undefined {
    return this.#targets.find(({name}) => name === actions.transferToAgent);
  }
}

/** Those below an agent, and, where its parent is led by a model too, the parent and its peers. */
function targetsOf(agent: LlmAgent): BaseAgent[] {
  const {parentAgent: parent, subAgents, disallowTransferToParent, disallowTransferToPeers} = agent;
  const targets = [...subAgents];
  if (!(parent instanceof LlmAgent)) return targets;
  if (!disallowTransferToParent) targets.push(parent);
  if (!disallowTransferToPeers) targets.push(...parent.subAgents.filter((peer) => peer !== agent));
  return targets;
}

function isLive(agent: BaseAgent): boolean {
  return agent instanceof LlmAgent && agent.canonicalModel.connect !== BaseLlm.prototype.connect;
}

function instructionFor(targets: readonly BaseAgent[], tool: string, parent: BaseAgent | undefined): string {
  const list = targets.map(({name, description}) => `- ${name}${description && `: ${description}`}`);
  return [
    'You work with other agents:',
    ...list,
    `Answer what your own description covers. Where another agent fits better, call ${tool} with its name, and write nothing else.`,
    ...(parent ? [`Where none of you fits, hand over to ${parent.name}, which you belong to.`] : []),
  ].join('\n');
}
