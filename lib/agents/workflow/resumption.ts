import {getFunctionCalls, getFunctionResponses, type Event} from '../../events/event.ts';
import type {BaseAgent, InvocationContext} from '../base-agent.ts';
import {WorkflowAgent} from './workflow-agent.ts';

/** A call that waited in an earlier run and is answered by the message of this one. */
export interface Answered {
  readonly id: string;
  /** Who made it. */
  readonly author: BaseAgent;
  readonly call: Event;
}

/**
 * The calls of agents below `agent` that the run's message answers, where `agent` is to go on with them: none of those agents has said
 * anything in this run yet. It follows from the Events alone, so that any process can go on.
 */
export function answeredBelow(agent: BaseAgent, {run, invocationId}: InvocationContext): Answered[] {
  if (!run.userContent?.parts?.some((part) => part.functionResponse)) return [];
  const {events} = run.session;
  const at = events.findLastIndex((event) => event.author === 'user' && event.invocationId === invocationId);
  const message = events[at];
  if (!message || events.slice(at + 1).some(({author}) => agent.findSubAgent(author))) return [];
  const before = events.slice(0, at);
  return getFunctionResponses(message).flatMap(({id}) => {
    const call = id === undefined ? undefined : before.findLast((event) => getFunctionCalls(event).some((made) => made.id === id));
    const author = call && agent.findSubAgent(call.author);
    return id !== undefined && call && author ? [{id, author, call}] : [];
  });
}

/** Which of an agent's own sub-agents leads to another, by number; -1 where none does. */
export function childToward(agent: BaseAgent, {name}: BaseAgent): number {
  return agent.subAgents.findIndex((child) => child.findAgent(name));
}

/** What an agent goes on with that runs others one after the other: the answer to the first of those that asked. */
export function earliest(agent: BaseAgent, ctx: InvocationContext): Answered | undefined {
  const answered = answeredBelow(agent, ctx);
  return answered.toSorted((a, b) => childToward(agent, a.author) - childToward(agent, b.author))[0];
}

/**
 * Who goes on in the place of `child` when one below it is answered: `child` itself where it can; else the nearest below it that can, or the
 * agent that asked. What stands in between is not called again: it cannot know where it was.
 */
export function resumed(child: BaseAgent, author: BaseAgent): BaseAgent {
  let at: BaseAgent = child;
  while (at !== author && !(at instanceof WorkflowAgent)) at = at.subAgents[childToward(at, author)] ?? author;
  return at;
}

/** The calls of agents below that still wait beside those that are answered now, in this round of the agent's work. */
export function waitingBelow(agent: BaseAgent, {run}: InvocationContext, answered: readonly Answered[]): string[] {
  const {events} = run.session;
  const isOf = ({author}: Event): boolean => agent.findAgent(author) !== undefined;
  const spoke = events.findLastIndex((event) => event.author === 'user' && getFunctionResponses(event).length === 0);
  const asked = answered.map(({call}) => events.findIndex(({invocationId}) => invocationId === call.invocationId));
  const waiting = new Set<string>();
  for (const event of events.slice(Math.max(0, Math.min(spoke, ...asked)))) {
    for (const {id} of getFunctionResponses(event)) if (id !== undefined) waiting.delete(id);
    if (isOf(event)) for (const id of event.longRunningToolIds ?? []) waiting.add(id);
  }
  return [...waiting];
}
