import {buildRequest} from '../agents/llm/build-request.ts';
import {FILLER} from '../agents/llm/history-layout.ts';
import {narrate} from '../agents/llm/history-narration.ts';
import {History} from '../agents/llm/history.ts';
import type {Toolbox} from '../agents/llm/toolbox.ts';
import type {InvocationContext} from '../agents/base-agent.ts';
import type {Content, FunctionDeclaration, Part} from '../content.ts';
import type {Event} from '../events/event.ts';
import {appendInstructions, type LlmRequest} from '../models/llm-request.ts';
import type {LiveAgent} from './live-agent.ts';
import {liveConnectConfig} from './live-config.ts';
import type {LiveMessage} from './live-memory.ts';

export interface LiveRequestOptions {
  readonly history: History;
  readonly toolbox: Toolbox;
  readonly handle: string | undefined;
  /** To whom the agent can hand over, and when it should. */
  readonly transferInstruction: string | undefined;
  /** What is still to be said to the model, and is no history. */
  readonly asked: LiveMessage | undefined;
}

/** The request of a live run: what the connection is opened with. Made by the same rules as any other request of the agent. */
export async function buildLiveRequest(
  agent: LiveAgent,
  ctx: InvocationContext,
  {history, toolbox, handle, transferInstruction, asked}: LiveRequestOptions,
): Promise<LlmRequest> {
  const liveConfig = liveConnectConfig(ctx.run.config, handle);
  const {events} = ctx.run.session;
  const all = history.contents(events);
  const end = asked?.kind === 'turn' ? events.findIndex(({id}) => id === asked.eventId) : -1;
  const said = (end < 0 ? all : contentsOf(agent, ctx, events.slice(0, end))).filter((content) => content !== FILLER);
  // The current turn, which is all that such an agent sees, has not begun.
  const contents = agent.includeContents === 'none' ? [] : said;
  const request = await buildRequest(agent, ctx, {contents, toolbox, step: 0});
  if (transferInstruction !== undefined) appendInstructions(request, [transferInstruction]);
  request.liveConnectConfig = liveConfig;
  for (const tool of request.config.tools ?? []) {
    if (!('functionDeclarations' in tool) || !tool.functionDeclarations) continue;
    tool.functionDeclarations = tool.functionDeclarations.map((declaration) => withBehavior(declaration, toolbox));
  }
  return request;
}

/** The request for a connection that goes on at this handle. */
export function resumedRequest(request: LlmRequest, handle: string | undefined): LlmRequest {
  const {liveConnectConfig: config} = request;
  if (!config?.sessionResumption || handle === undefined) return request;
  return {...request, liveConnectConfig: {...config, sessionResumption: {...config.sessionResumption, handle}}};
}

export interface SaidBefore {
  /** The Event behind which it begins; the session's first where it is missing. */
  readonly after: string | undefined;
  /** How many Events there were; and the Events of turns that are said after it: it ends before the first of them. */
  readonly count: number;
  readonly before: ReadonlySet<string>;
  /** The calls that are still to be answered, or are answered right behind it. */
  readonly open: ReadonlySet<string>;
}

/** What was said in a session, as a new connection is told of it. */
export function saidBefore(agent: LiveAgent, ctx: InvocationContext, {after, count, before, open}: SaidBefore): Content[] {
  const {events} = ctx.run.session;
  // One that is not stored yet stands behind all that are.
  const from = after === undefined ? 0 : events.findLastIndex(({id}) => id === after) + 1 || events.length;
  const end = events.findIndex(({id}) => before.has(id));
  return inWords(agent.name, contentsOf(agent, ctx, events.slice(from, end < 0 ? count : Math.min(end, count))), open);
}

/** What an agent that takes over has to answer: all from the Event on that says so, as one turn of the user. */
export function takenOver(agent: LiveAgent, ctx: InvocationContext, eventId: string): LiveMessage {
  const {events} = ctx.run.session;
  const since = events.slice(events.findIndex(({id}) => id === eventId));
  const contents = inWords(agent.name, contentsOf({name: agent.name, includeContents: 'default'}, ctx, since));
  return {kind: 'turn', content: {role: 'user', parts: contents.flatMap(({parts = []}) => parts)}, eventId};
}

function contentsOf(
  {name: agentName, includeContents}: Pick<LiveAgent, 'name' | 'includeContents'>,
  ctx: InvocationContext,
  events: readonly Event[],
): Content[] {
  return new History({agentName, branch: ctx.branch, includeContents}).contents(events);
}

/** Contents as a live model takes them for history: text only. Calls and what they came to are told. */
export function inWords(agentName: string, contents: readonly Content[], open: ReadonlySet<string> = new Set()): Content[] {
  return contents.flatMap((content) => {
    if (content === FILLER) return [];
    const parts = content.parts ?? [];
    const said = parts.flatMap(({text, thought}) => (text && !thought ? [{text}] : []));
    const told = parts.flatMap((part) => (part.functionCall || part.functionResponse ? tellCall(agentName, part, open) : []));
    return [...(said.length > 0 ? [{...content, parts: said}] : []), ...(told.length > 0 ? [{role: 'user', parts: told}] : [])];
  });
}

function tellCall(agentName: string, part: Part, open: ReadonlySet<string>): Part[] {
  const {functionResponse} = part;
  if (functionResponse && open.has(functionResponse.id ?? ''))
    return [{text: `[${agentName}] still waits for \`${functionResponse.name}\``}];
  return narrate(agentName, [part]).filter(({text}) => text);
}

/** Only a live model knows calls that it does not wait for: every other refuses their declaration. */
function withBehavior(declaration: FunctionDeclaration, toolbox: Toolbox): FunctionDeclaration {
  if (toolbox.factsOf(declaration.name)?.responseScheduling === undefined) return declaration;
  return {...declaration, behavior: 'NON_BLOCKING' as NonNullable<FunctionDeclaration['behavior']>};
}
