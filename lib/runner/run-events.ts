import {areParts} from '../agents/llm/model-reply.ts';
import {expectOption} from '../errors.ts';
import {createEvent, type Event} from '../events/event.ts';
import type {Steps} from '../steps/steps.ts';
import type {RunRequest} from './run-request.ts';

/** The Event of the user's message. */
export async function userEvent(invocationId: string, request: RunRequest, steps: Steps): Promise<Event> {
  return createEvent({
    id: await steps.uuid(),
    timestamp: await steps.now(),
    invocationId,
    author: 'user',
    content: {...request.newMessage, role: 'user'},
    ...(request.stateDelta && {actions: {stateDelta: {...request.stateDelta}}}),
    ...(request.customMetadata && {customMetadata: {...request.customMetadata}}),
  });
}

/** An agent of the user's may yield anything; what is stored must be an Event of this run. */
export function checkEvent(event: Event, invocationId: string, agentName: string): Event {
  const isEvent = typeof event?.id === 'string' && typeof event.actions?.stateDelta === 'object';
  expectOption(isEvent, `an event of ${agentName}`, 'an Event, as createEvent makes it', event);
  const parts: unknown = event.content?.parts;
  expectOption(areParts(parts), `content.parts of an event of ${agentName}`, 'an array of parts', parts);
  return event.invocationId === '' ? {...event, invocationId} : event;
}
