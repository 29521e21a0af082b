import type {InvocationContext} from '../agents/base-agent.ts';
import {ToolRound} from '../agents/llm/call-tools.ts';
import type {LlmAgentSettings} from '../agents/llm/llm-agent-config.ts';
import {ownCalls} from '../agents/llm/own-calls.ts';
import {ToolBatch} from '../agents/llm/tool-batch.ts';
import type {Toolbox} from '../agents/llm/toolbox.ts';
import {confirmationOf} from '../answers/confirmation.ts';
import type {FunctionCall} from '../content.ts';
import {REQUEST_CONFIRMATION, REQUEST_CREDENTIAL, type Granted} from '../context/requests.ts';
import {asksUser} from '../events/event-actions.ts';
import {getFunctionCalls, getFunctionResponses, type Event} from '../events/event.ts';
import {requestEvent} from './user-requests.ts';

/** A reply of the model, with those of its calls that the message of the run grants. */
interface Granting {
  readonly reply: Event;
  readonly calls: readonly FunctionCall[];
}

/**
 * Runs the calls that the message of the run grants, and only those: what their siblings came to is stored. Returns whether the run is to
 * end there, because others still wait.
 */
export async function* resume(
  settings: LlmAgentSettings,
  ctx: InvocationContext,
  listToolbox: () => Promise<Toolbox>,
): AsyncGenerator<Event, boolean, undefined> {
  const {steps, open} = ctx.run;
  const granted = grants(ctx);
  let waits = false;
  for (const {reply, calls} of grantings(ctx, granted)) {
    const batch = new ToolBatch(ctx, reply, calls);
    const close = open.add(batch);
    yield* new ToolRound(settings, ctx, batch, await listToolbox(), granted).run();
    const answer = batch.answer(await steps.uuid(), await steps.now());
    if (asksUser(answer.actions, calls)) yield open.complete(await requestEvent(ctx, calls, answer));
    const left = stillWaiting(ctx, reply, calls).concat(answer.longRunningToolIds ?? []);
    if (left.length > 0) answer.longRunningToolIds = left;
    waits ||= left.length > 0;
    yield open.complete(answer);
    close();
  }
  return waits;
}

/** What the message grants, by the ids of the calls that had asked; of this agent's requests, and of calls that are not answered yet. */
function grants({run, agentName}: InvocationContext): Map<string, Granted> {
  const {events} = run.session;
  const requests = new Map(
    events.flatMap((event) => (event.author === agentName ? getFunctionCalls(event) : [])).map((call) => [call.id, call]),
  );
  const granted = new Map<string, Granted>();
  for (const {functionResponse} of run.userContent?.parts ?? []) {
    const {name, args} = requests.get(functionResponse?.id) ?? {};
    const {originalFunctionCall, functionCallId} = (args ?? {}) as {originalFunctionCall?: FunctionCall; functionCallId?: string};
    const id = name === REQUEST_CONFIRMATION ? originalFunctionCall?.id : name === REQUEST_CREDENTIAL ? functionCallId : undefined;
    if (id === undefined || isAnswered(events, id)) continue;
    const grant: Granted =
      name === REQUEST_CONFIRMATION
        ? {toolConfirmation: confirmationOf(functionResponse?.response)}
        : {authResponse: functionResponse?.response};
    granted.set(id, {...granted.get(id), ...grant});
  }
  return granted;
}

/** The replies that the granted calls stand in: what is run is what the model called, whatever the answer says. */
function grantings({run, agentName}: InvocationContext, granted: ReadonlyMap<string, Granted>): Granting[] {
  return run.session.events.flatMap((reply) => {
    if (reply.author !== agentName) return [];
    const calls = ownCalls(reply).filter(({id = ''}) => granted.has(id));
    return calls.length > 0 ? [{reply, calls}] : [];
  });
}

/** The calls of a reply, but for these, whose last response is not the final one. */
function stillWaiting({run}: InvocationContext, reply: Event, calls: readonly FunctionCall[]): string[] {
  const others = ownCalls(reply).filter(({id}) => !calls.some((call) => call.id === id));
  return others.flatMap(({id}) => (id === undefined || isAnswered(run.session.events, id) ? [] : id));
}

/** Whether the last response to a call is a final one. */
function isAnswered(events: readonly Event[], id: string): boolean {
  const last = events.findLast((event) => getFunctionResponses(event).some((response) => response.id === id));
  return last !== undefined && !last.longRunningToolIds?.includes(id);
}
