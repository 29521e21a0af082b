import {InvocationContext, type BaseAgent} from '../agents/base-agent.ts';
import type {LiveScope} from '../agents/run-scope.ts';
import type {Blob} from '../content.ts';
import type {Transfer} from 'sluice/flow';
import type {SharedInput} from './shared-input.ts';

/** How one agent leaves a live run to another. */
export interface HandOver {
  readonly target: BaseAgent;
  /** The Event with the answer to the call that hands over: what was said from there on, the new agent is to answer. */
  readonly since: string;
}

/** What a live run goes on with in the hands of another agent. */
export interface HandedOver extends LiveScope {
  readonly input: SharedInput;
  readonly since: string;
  /** The sound of it that is still to be kept, where it is. */
  readonly heard: readonly Blob[];
}

/** How an agent hands over in a live run; nothing where there is nobody to hand over to. */
export async function liveTransferOf(agent: BaseAgent): Promise<Transfer | undefined> {
  if (!agent.parentAgent && agent.subAgents.length === 0) return undefined;
  return (await import('sluice/flow')).Transfer.ofLive(agent);
}

/** The place of the agent that takes over. Where the old one's connection was means nothing to it. */
export function placeOf(target: BaseAgent, ctx: InvocationContext, handed: Omit<HandedOver, keyof LiveScope>): InvocationContext {
  const live = ctx.run.live && {...ctx.run.live, ...handed, resumptionHandle: undefined};
  return new InvocationContext({...ctx.run, live}, target, ctx.branch);
}

/** Whether somebody has handed the run over before. */
export function isHandedOver(live: LiveScope): live is HandedOver {
  return 'since' in live;
}
