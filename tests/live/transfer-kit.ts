/** Agents that hand over to each other in a live run, each with a model of its own. */
import {LlmAgent, type BaseAgent, type FunctionCall, type LlmAgentConfig} from 'sluice';
import type {GeminiLiveServer, LiveServerSession} from 'sluice/testing';
import {liveModelAt, liveStage, type LiveReading, type LiveStage, type LiveStageOptions} from './kit.ts';

export type AgentMaker = (server: GeminiLiveServer) => BaseAgent;

/** An agent whose model has its name. */
export function agentOf(name: string, config: Partial<LlmAgentConfig> = {}, subAgents: readonly AgentMaker[] = []): AgentMaker {
  return (server) =>
    new LlmAgent({
      name,
      description: `Knows ${name}.`,
      instruction: `You are ${name}.`,
      model: liveModelAt(server, {model: `live-${name}`}),
      subAgents: subAgents.map((make) => make(server)),
      ...config,
    });
}

/** A stage whose `root` has these below it; a clerk unless told otherwise. */
export function transferStage({
  root = {},
  subAgents = [agentOf('clerk')],
  ...options
}: Omit<LiveStageOptions, 'agent'> & {
  readonly root?: Partial<LlmAgentConfig>;
  readonly subAgents?: readonly AgentMaker[];
} = {}): Promise<LiveStage> {
  return liveStage({
    ...options,
    agent: (server) => ({
      instruction: 'You are root.',
      model: liveModelAt(server, {model: 'live-root'}),
      subAgents: subAgents.map((make) => make(server)),
      ...root,
    }),
  });
}

export function transferTo(agentName: string, id = 't'): FunctionCall {
  return {id, name: 'transfer_to_agent', args: {agentName}};
}

/** The next connection, once its setup has come. */
export async function connected(it: LiveStage): Promise<LiveServerSession> {
  const session = await it.server.nextSession();
  await session.message('setup');
  return session;
}

/** A conversation that root has handed over to the clerk: the connection of root, which is gone, and that of the clerk, who was asked. */
export async function handedOver(it: LiveStage): Promise<{reading: LiveReading; first: LiveServerSession; second: LiveServerSession}> {
  const {session: first, reading} = await it.talk();
  first.toolCall([transferTo('clerk')]);
  const second = await connected(it);
  await second.message('clientContent', 1);
  return {reading, first, second};
}

/** Which model a connection is to. */
export function modelOf({setup}: LiveServerSession): unknown {
  return setup?.['model'];
}

/** What a new connection is told, on the wire. */
export function history(...turns: readonly (readonly [role: string, ...texts: string[]])[]): Record<string, unknown> {
  const contents = turns.map(([role, ...texts]) => ({role, parts: texts.map((text) => ({text}))}));
  return {clientContent: {turns: contents, turnComplete: false}};
}

export const CALLED = '[root] called tool `transfer_to_agent` with {"agentName":"clerk"}';
export const TRANSFERRED = '[root] got from `transfer_to_agent`: {"status":"transferred"}';
/** The Events of root's transfer. */
export const CALL = 'root: transfer_to_agent({"agentName":"clerk"})';
export const ANSWER = 'root: transfer_to_agent={"status":"transferred"}';
