import {agentEvent} from '../agents/agent-event.ts';
import type {InvocationContext} from '../agents/base-agent.ts';
import type {LlmCalls} from '../agents/llm-calls.ts';
import {ToolRound} from '../agents/llm/call-tools.ts';
import type {LlmAgentSettings} from '../agents/llm/llm-agent-config.ts';
import {ToolBatch} from '../agents/llm/tool-batch.ts';
import type {Toolbox} from '../agents/llm/toolbox.ts';
import {confirmedCall, grantOf, isToRun} from '../answers/granted.ts';
import {readLedger, waits, type LedgerCall} from '../answers/ledger.ts';
import {createEventActions, mergeEventActions} from '../events/event-actions.ts';
import {getFunctionResponses, type Event} from '../events/event.ts';
import {requestEvent} from './user-requests.ts';

/** A reply of this agent's some of whose calls the message of the run answers. */
interface Answered {
  readonly reply: Event;
  /** Its calls that the message grants what they had asked for. */
  readonly granted: readonly LedgerCall[];
}

/** What became of the replies that a message answers. */
export interface Resumed {
  /** Whether the agent goes on: not where one of them still has calls that wait. */
  readonly goesOn: boolean;
  /** The batches that are whole now, each as one Event: all its responses, and what its calls did besides. */
  readonly batches: readonly Event[];
}

/**
 * Runs the calls that the message of the run grants, and only those: what their siblings came to is stored. An agent that the message does
 * not concern goes on.
 */
export async function* resume(
  settings: LlmAgentSettings,
  ctx: InvocationContext,
  listToolbox: () => Promise<Toolbox>,
): AsyncGenerator<Event, Resumed, undefined> {
  const {steps, open} = ctx.run;
  const answered = answeredBy(ctx);
  const batches: Event[] = [];
  let told: readonly string[] = [];
  for (const {reply, granted} of answered) {
    const answer = granted.length > 0 ? yield* runGranted(settings, ctx, {reply, granted}, await listToolbox()) : undefined;
    if (answer) told = answer.longRunningToolIds ?? [];
    if (waitingIn(ctx, reply).length === 0) batches.push(wholeBatch(ctx, reply, answer));
  }
  const left = answered.flatMap(({reply}) => waitingIn(ctx, reply));
  // The last Event says that the agent waits.
  if (!left.every((id) => told.includes(id))) yield open.complete(await agentEvent(ctx, steps, {longRunningToolIds: left}));
  return {goesOn: left.length === 0, batches};
}

async function* runGranted(
  settings: LlmAgentSettings,
  ctx: InvocationContext,
  {reply, granted}: Answered,
  toolbox: Toolbox,
): AsyncGenerator<Event, Event, undefined> {
  const {steps, open} = ctx.run;
  const calls = granted.map(confirmedCall);
  const batch = new ToolBatch(ctx, reply, calls);
  const close = open.add(batch);
  const grants = new Map(granted.map((call) => [call.id, grantOf(call) ?? {}]));
  yield* new ToolRound(settings, ctx, batch, toolbox, grants).run();
  const answer = batch.answer(await steps.uuid(), await steps.now());
  batch.question = await requestEvent(ctx, calls, answer);
  if (batch.question) yield open.complete(batch.question);
  const left = [...waitingIn(ctx, reply, granted), ...(answer.longRunningToolIds ?? [])];
  if (left.length > 0) answer.longRunningToolIds = left;
  yield open.complete(answer);
  close();
  return answer;
}

/** By the budget of their run, which all its agents share: those that have gone on with what its message answers. In a loop that is done once. */
const resumed = new WeakMap<LlmCalls, Set<string>>();

/** The replies of this agent that the message answers calls of, or what these had asked for. */
function answeredBy({run: {session, userContent, llmCalls}, agentName}: InvocationContext): Answered[] {
  const agents = resumed.get(llmCalls) ?? new Set();
  if (agents.has(agentName)) return [];
  resumed.set(llmCalls, agents.add(agentName));
  const ids = new Set(userContent?.parts?.map(({functionResponse}) => functionResponse?.id));
  const touched = [...readLedger(session.events).values()].filter(({id, event}) => ids.has(id) && event.author === agentName);
  const calls = [...new Set(touched.map((call) => call.asker ?? call))];
  return [...new Set(calls.map(({event}) => event))].map((reply) => ({
    reply,
    granted: calls.filter((call) => call.event === reply && isToRun(call)),
  }));
}

/** The calls of a reply, but for these, that still wait. */
function waitingIn({run}: InvocationContext, reply: Event, but: readonly LedgerCall[] = []): string[] {
  const others = [...readLedger(run.session.events).values()].filter(
    ({id, event}) => event === reply && !but.some((call) => call.id === id),
  );
  return others.flatMap((call) => (!call.asker && waits(call) ? call.id : []));
}

/** A batch that came to its end over several runs. Whom a sibling had handed over to takes over now. */
function wholeBatch({run}: InvocationContext, reply: Event, answer: Event | undefined): Event {
  const {events} = run.session;
  const calls = [...readLedger(events).values()].filter(({event, asker}) => event === reply && !asker);
  const answers = events.filter((event) => getFunctionResponses(event).some(({id}) => calls.some((call) => call.id === id)));
  const {transferToAgent} = mergeEventActions(answers.map(({actions}) => actions));
  const from = answers.findLast(({actions}) => actions.transferToAgent !== undefined);
  // In a live run a hand-over waits for no call.
  const isMade = events.slice(from && events.indexOf(from)).some(({author}) => author === transferToAgent);
  const actions = createEventActions({
    ...(transferToAgent !== undefined && !isMade && {transferToAgent}),
    ...(answer?.actions.skipSummarization && {skipSummarization: true}),
  });
  return {
    ...reply,
    actions,
    content: {role: 'user', parts: calls.flatMap((call) => (call.answer ? [{functionResponse: call.answer.response}] : []))},
  };
}
