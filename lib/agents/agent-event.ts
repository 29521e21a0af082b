import type {ContextSource} from '../context/context-options.ts';
import {createEvent, type CreateEventParams, type Event} from '../events/event.ts';
import type {Steps} from '../steps/steps.ts';
import type {RunScope} from './run-scope.ts';

/** Where an agent speaks. */
export interface AgentSite {
  readonly run: RunScope;
  readonly source: ContextSource;
  readonly agentName: string;
}

/** An Event of an agent that its model has not made, with id and time from the run's steps. */
export async function agentEvent({source, agentName}: AgentSite, steps: Steps, params: CreateEventParams): Promise<Event> {
  const {invocationId, branch} = source;
  return createEvent({
    ...params,
    id: await steps.uuid(),
    timestamp: await steps.now(),
    invocationId,
    author: agentName,
    ...(branch !== undefined && {branch}),
  });
}
