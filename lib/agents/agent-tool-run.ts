import type {Context} from '../context/context.ts';
import {createEvent, stringifyContent, type Event} from '../events/event.ts';
import {InMemorySessionService} from '../sessions/in-memory-session-service.ts';
import {isTemporary} from '../sessions/state.ts';
import {inProcessSteps} from '../steps/in-process-steps.ts';
import {InvocationContext, type BaseAgent} from './base-agent.ts';
import {ForwardedArtifacts} from './forwarded-artifacts.ts';
import {OpenWork, type ForeignWork} from './open-work.ts';
import {runScopeOf} from './run-scope.ts';

/** One call of an agent as a tool. */
export interface AgentCall {
  readonly agent: BaseAgent;
  readonly toolContext: Context;
  /** What the agent is told, as its user. */
  readonly text: string;
  readonly streamEvents: boolean;
}

/**
 * Runs the agent within the caller's run: under the life of the call, on the run's budget, in a session that is thrown away. Returns what
 * the agent came to.
 */
export async function* runAgentCall({agent, toolContext, text, streamEvents}: AgentCall): AsyncGenerator<Event, unknown, undefined> {
  const outer = runScopeOf(toolContext);
  const {life} = toolContext;
  const sessionService = new InMemorySessionService();
  const {appName, userId, sessionId, artifactService} = toolContext;
  const state = toolContext.state.toRecord();
  const session = await sessionService.createSession({appName, userId, state});
  const invocationId = `e-${crypto.randomUUID()}`;
  const userContent = {role: 'user', parts: [{text}]};
  // A service stores no `temp:` keys, but the record that it is given takes them from an Event.
  const stateDelta = Object.fromEntries(Object.entries(state).filter(([key]) => isTemporary(key)));
  await sessionService.appendEvent({session, event: createEvent({invocationId, content: userContent, actions: {stateDelta}})});
  const open = new InnerWork(outer.open);
  const services = {
    ...outer.services,
    ...(artifactService && {artifactService: new ForwardedArtifacts(artifactService, {appName, userId, sessionId})}),
  };
  const inner = {invocationId, session, sessionService, services, steps: inProcessSteps, life, open, userContent, live: undefined};

  const takeBack = outer.gate.lend();
  let last: Event | undefined;
  let output: unknown;
  try {
    for await (const event of agent.runAsync(new InvocationContext({...outer, ...inner}, agent))) {
      if (!event.partial) {
        life.throwIfEnded();
        await sessionService.appendEvent({session, event});
        // What a callback behind the agent only writes is no answer, and what it says takes no output away.
        if (event.content || event.errorCode !== undefined || event.longRunningToolIds || event.output !== undefined) last = event;
        if (event.author === agent.name) output = event.output ?? output;
        // At once, and not when the agent is done: what it did stays where it is stopped, or fails.
        for (const [key, value] of Object.entries(event.actions.stateDelta)) toolContext.state.set(key, value);
        Object.assign(toolContext.actions.artifactDelta, event.actions.artifactDelta);
      }
      if (streamEvents) yield event;
    }
  } finally {
    takeBack();
    // Hooks that follow an agent follow it here too, and see no more of the session than the agent did.
    await Promise.allSettled(open.takeUnfinished().map((work) => work.close({steps: inProcessSteps, life})));
  }
  return resultOf(agent, last, output);
}

function resultOf(agent: BaseAgent & {readonly outputSchema?: unknown}, last: Event | undefined, output: unknown): unknown {
  const {name} = agent;
  if (!last) return undefined;
  if (last.errorCode) throw new Error(`The agent \`${name}\` ended with ${last.errorCode}: ${last.errorMessage ?? 'no reason given'}`);
  if (last.longRunningToolIds) throw new Error(`The agent \`${name}\` waits for an answer, and a call cannot wait for that`);
  return (agent.outputSchema === undefined ? last.output : output) ?? stringifyContent(last);
}

/** What is under way in the agent. What is foreign in it is the run's to wait for and to leave behind. */
class InnerWork extends OpenWork {
  readonly #outer: OpenWork;

  constructor(outer: OpenWork) {
    super();
    this.#outer = outer;
  }

  override enter(work: ForeignWork): () => void {
    return this.#outer.enter(work);
  }

  override addAgent(agent: ForeignWork): void {
    this.#outer.addAgent(agent);
  }
}
