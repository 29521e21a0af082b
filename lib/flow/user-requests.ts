import {agentEvent} from '../agents/agent-event.ts';
import type {InvocationContext} from '../agents/base-agent.ts';
import type {FunctionCall, Part} from '../content.ts';
import {REQUEST_CONFIRMATION, REQUEST_CREDENTIAL} from '../context/requests.ts';
import type {Event} from '../events/event.ts';
import {newCallId} from '../models/call-id.ts';

/**
 * What the user of the app is asked, by the calls that a batch cannot go on without: one Event, whose calls a later run answers. Nothing where
 * nobody asks; a call that has failed after it asked asks no more.
 */
export async function requestEvent(ctx: InvocationContext, calls: readonly FunctionCall[], answer: Event): Promise<Event | undefined> {
  const {steps} = ctx.run;
  const {requestedToolConfirmations: confirmations, requestedAuthConfigs: configs} = answer.actions;
  const parts: Part[] = [];
  const ask = async (name: string, args: Record<string, unknown>): Promise<void> => {
    parts.push({functionCall: {id: newCallId(await steps.uuid()), name, args}});
  };
  for (const call of calls) {
    const id = call.id ?? '';
    if (!answer.longRunningToolIds?.includes(id)) continue;
    if (Object.hasOwn(confirmations, id))
      await ask(REQUEST_CONFIRMATION, {originalFunctionCall: {...call}, toolConfirmation: confirmations[id]});
    if (Object.hasOwn(configs, id)) await ask(REQUEST_CREDENTIAL, {functionCallId: id, authConfig: configs[id]});
  }
  if (parts.length === 0) return undefined;
  const longRunningToolIds = parts.flatMap(({functionCall}) => functionCall?.id ?? []);
  return agentEvent(ctx, steps, {content: {role: 'model', parts}, longRunningToolIds});
}
