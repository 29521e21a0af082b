import {buildRequest} from '../agents/llm/build-request.ts';
import {FILLER} from '../agents/llm/history-layout.ts';
import {narrate} from '../agents/llm/history-narration.ts';
import {History} from '../agents/llm/history.ts';
import type {Toolbox} from '../agents/llm/toolbox.ts';
import type {InvocationContext} from '../agents/base-agent.ts';
import type {Content, FunctionDeclaration} from '../content.ts';
import type {LlmRequest} from '../models/llm-request.ts';
import type {LiveAgent} from './live-agent.ts';
import {liveConnectConfig} from './live-config.ts';

/** The request of a live run: what the connection is opened with. Made by the same rules as any other request of the agent. */
export async function buildLiveRequest(
  agent: LiveAgent,
  ctx: InvocationContext,
  {history, toolbox, handle}: {history: History; toolbox: Toolbox; handle: string | undefined},
): Promise<LlmRequest> {
  const liveConfig = liveConnectConfig(ctx.run.config, handle);
  const said = history.contents(ctx.run.session.events).filter((content) => content !== FILLER);
  // The current turn, which is all that such an agent sees, has not begun.
  const contents = agent.includeContents === 'none' ? [] : said;
  const request = await buildRequest(agent, ctx, {contents, toolbox, step: 0});
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

/**
 * What was said in a session, as a new connection is told of it: behind one Event, and up to the first turn that is said once more or has not
 * been said yet. What the model has begun to answer to that it will answer again.
 */
export function saidBefore(
  agent: LiveAgent,
  ctx: InvocationContext,
  {after, before}: {readonly after: string | undefined; readonly before: ReadonlySet<string>},
): Content[] {
  const {name: agentName, includeContents} = agent;
  const {events} = ctx.run.session;
  // One that is not stored yet stands behind all that are.
  const from = after === undefined ? 0 : events.findLastIndex(({id}) => id === after) + 1 || events.length;
  const end = events.findIndex(({id}) => before.has(id));
  const history = new History({agentName, branch: ctx.branch, includeContents});
  return inWords(agentName, history.contents(events.slice(from, end < 0 ? events.length : end)));
}

/** Contents as a live model takes them for history: text only. Calls and what they came to are told. */
export function inWords(agentName: string, contents: readonly Content[]): Content[] {
  return contents.flatMap((content) => {
    if (content === FILLER) return [];
    const parts = content.parts ?? [];
    const said = parts.flatMap(({text, thought}) => (text && !thought ? [{text}] : []));
    const told = narrate(
      agentName,
      parts.filter((part) => part.functionCall ?? part.functionResponse),
    ).filter(({text}) => text);
    return [...(said.length > 0 ? [{...content, parts: said}] : []), ...(told.length > 0 ? [{role: 'user', parts: told}] : [])];
  });
}

/** Only a live model knows calls that it does not wait for: every other refuses their declaration. */
function withBehavior(declaration: FunctionDeclaration, toolbox: Toolbox): FunctionDeclaration {
  if (toolbox.factsOf(declaration.name)?.responseScheduling === undefined) return declaration;
  return {...declaration, behavior: 'NON_BLOCKING' as NonNullable<FunctionDeclaration['behavior']>};
}
