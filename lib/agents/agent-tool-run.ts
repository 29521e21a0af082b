import type {Context} from '../context/context.ts';
import {createEvent, stringifyContent, type Event} from '../events/event.ts';
import {copyJson} from '../schema/json-copy.ts';
import {InMemorySessionService} from '../sessions/in-memory-session-service.ts';
import {isTemporary} from '../sessions/state.ts';
import {inProcessSteps} from '../steps/in-process-steps.ts';
import {InvocationContext, type BaseAgent} from './base-agent.ts';
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
  const {appName, userId} = toolContext;
  const session = await sessionService.createSession({appName, userId, state: toolContext.state.toRecord()});
  const invocationId = `e-${crypto.randomUUID()}`;
  const userContent = {role: 'user', parts: [{text}]};
  await sessionService.appendEvent({session, event: createEvent({invocationId, content: userContent})});
  const open = new InnerWork(outer.open);
  const scope = {...outer, invocationId, session, sessionService, steps: inProcessSteps, life, open, userContent, live: undefined};

  const takeBack = outer.gate.lend();
  const written = new Map<string, unknown>();
  let last: Event | undefined;
  try {
    for await (const event of agent.runAsync(new InvocationContext(scope, agent))) {
      if (!event.partial) {
        life.throwIfEnded();
        last = await sessionService.appendEvent({session, event});
        for (const [key, value] of Object.entries(last.actions.stateDelta)) if (!isTemporary(key)) written.set(key, value);
      }
      if (streamEvents) yield event;
    }
  } finally {
    takeBack();
    // Hooks that follow an agent follow it here too, and see no more of the session than the agent did.
    await Promise.allSettled(open.takeUnfinished().map((work) => work.close({steps: inProcessSteps, life})));
    if (!life.ended) for (const [key, value] of written) toolContext.state.set(key, copyJson(value));
  }
  return resultOf(agent.name, last);
}

function resultOf(name: string, last: Event | undefined): unknown {
  if (!last) return undefined;
  if (last.errorCode) throw new Error(`The agent \`${name}\` ended with ${last.errorCode}: ${last.errorMessage ?? 'no reason given'}`);
  if (last.longRunningToolIds) throw new Error(`The agent \`${name}\` waits for an answer, and a call cannot wait for that`);
  return last.output ?? stringifyContent(last);
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
