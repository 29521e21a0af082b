import type {BaseArtifactService} from '../artifacts/base-artifact-service.ts';
import type {Content} from '../content.ts';
import type {ContextSource} from '../context/context-options.ts';
import {isGenerator} from '../dispatch/drain.ts';
import {ContextRevokedError, InvalidOptionError} from '../errors.ts';
import type {Event} from '../events/event.ts';
import type {BaseMemoryService} from '../memory/base-memory-service.ts';
import type {BaseLlm} from '../models/base-llm.ts';
import {adopt} from './adopt.ts';
import {checkAgentConfig} from './check-agent-config.ts';
import type {AgentCallback} from './agent-hook.ts';
import {callbackList, type Callbacks} from './callbacks.ts';
import type {LiveRequestQueue} from './live-request-queue.ts';
import type {Closing} from './open-work.ts';
import type {ResolvedRunConfig} from './run-config.ts';
import type {RunScope} from './run-scope.ts';
import type {BaseSessionService} from '../sessions/base-session-service.ts';
import type {Session} from '../sessions/session.ts';

/** One agent's place in a run: what `runAsyncImpl` of a custom agent gets. */
export class InvocationContext {
  readonly agent: BaseAgent;
  readonly agentName: string;
  readonly invocationId: string;
  readonly appName: string;
  readonly userId: string;
  /** The path of agents whose Events this one sees; `undefined` outside of branches. */
  readonly branch: string | undefined;
  /** @internal */
  readonly run: RunScope;
  /** @internal What the contexts of hooks and tools are made from. */
  readonly source: ContextSource;
  #revoked = false;

  constructor(run: RunScope, agent: BaseAgent, branch?: string) {
    this.run = run;
    this.agent = agent;
    this.branch = branch;
    const {invocationId, session, userContent} = run;
    this.agentName = agent.name;
    this.invocationId = invocationId;
    ({appName: this.appName, userId: this.userId} = session);
    this.source = {invocationId, agentName: agent.name, branch, session, userContent, run};
    run.open.addAgent({name: agent.name, revoke: () => (this.#revoked = true)});
  }

  /** The session as this run sees it: what was stored before and what the run has stored. Read only. */
  get session(): Session {
    this.#check('session');
    return this.run.session;
  }
  get sessionService(): BaseSessionService {
    this.#check('sessionService');
    return this.run.sessionService;
  }
  /** The runner's stores; `undefined` where it has none. */
  get artifactService(): BaseArtifactService | undefined {
    return this.run.services.artifactService;
  }
  get memoryService(): BaseMemoryService | undefined {
    return this.run.services.memoryService;
  }
  /** What the user sends while a live run goes on; `undefined` in other runs. */
  get liveRequestQueue(): LiveRequestQueue | undefined {
    return this.run.live?.queue;
  }
  /** The message that started the run. */
  get userContent(): Content | undefined {
    this.#check('userContent');
    return this.run.userContent;
  }
  get runConfig(): ResolvedRunConfig {
    return this.run.config;
  }
  /** Fires when the run is stopped. A custom agent passes it on to everything that it waits for. */
  get abortSignal(): AbortSignal {
    return this.run.life.signal;
  }
  /** @internal What a hook works with while the run goes on; in its closing it gets other ones. */
  get live(): Closing {
    return {steps: this.run.steps, life: this.run.life};
  }

  /** The place of another agent in the same run. */
  forAgent(agent: BaseAgent): InvocationContext {
    return agent === this.agent ? this : new InvocationContext(this.run, agent, this.branch);
  }

  #check(member: string): void {
    if (this.#revoked) throw new ContextRevokedError(member);
  }
}

/** What every agent is made of. */
export interface BaseAgentConfig {
  /** An identifier (`[A-Za-z_][A-Za-z0-9_]*`), not `user`, unique in its tree. The author of the agent's Events. */
  readonly name: string;
  /** Tells other agents what this one is for. Default `''`. */
  readonly description?: string | undefined;
  readonly subAgents?: readonly BaseAgent[] | undefined;
  /** Content from it stands in for the agent's own work. */
  readonly beforeAgentCallback?: Callbacks<AgentCallback> | undefined;
  /** Runs once on every end of the agent, a stop included. */
  readonly afterAgentCallback?: Callbacks<AgentCallback> | undefined;
}

/**
 * Something that answers: yields Events until it is done. Extend it for an agent of your own.
 *
 * @example
 * ```ts
 * import {BaseAgent, createEvent, type Event, type InvocationContext} from 'sluice';
 *
 * class Greeter extends BaseAgent {
 *   protected async *runAsyncImpl(context: InvocationContext): AsyncGenerator<Event, void, undefined> {
 *     yield createEvent({author: this.name, invocationId: context.invocationId, content: {role: 'model', parts: [{text: 'Hello.'}]}});
 *   }
 * }
 * const greeter = new Greeter({name: 'greeter'});
 * ```
 */
export abstract class BaseAgent {
  readonly name: string;
  readonly description: string;
  readonly subAgents: readonly BaseAgent[];
  readonly beforeAgentCallback: readonly AgentCallback[];
  readonly afterAgentCallback: readonly AgentCallback[];
  parentAgent: BaseAgent | undefined;

  /** @throws {@link InvalidOptionError} where an option cannot be used */
  constructor(config: BaseAgentConfig) {
    checkAgentConfig(config);
    this.name = config.name;
    this.description = config.description ?? '';
    this.beforeAgentCallback = callbackList(config.beforeAgentCallback);
    this.afterAgentCallback = callbackList(config.afterAgentCallback);
    this.subAgents = adopt<BaseAgent>(this, config.subAgents ?? [], (value) => value instanceof BaseAgent);
  }

  /** @internal What agents below ask that name no model. */
  get canonicalModel(): BaseLlm | undefined {
    return this.parentAgent?.canonicalModel;
  }

  /** The top of the tree. */
  get rootAgent(): BaseAgent {
    return this.parentAgent ? this.parentAgent.rootAgent : this;
  }

  /** This agent or one below it, by name. */
  findAgent(name: string): BaseAgent | undefined {
    return this.name === name ? this : this.findSubAgent(name);
  }

  /** An agent below this one, by name. */
  findSubAgent(name: string): BaseAgent | undefined {
    return this.subAgents.map((agent) => agent.findAgent(name)).find((agent) => agent !== undefined);
  }

  /**
   * Runs the agent between its callbacks. Nothing happens before the first `next()`.
   *
   * When the run is stopped the agent gets no chance to yield more; its `afterAgentCallback` runs while the run closes.
   */
  runAsync(parentContext: InvocationContext): AsyncGenerator<Event, void, undefined> {
    return this.#runAround(parentContext.forAgent(this), 'runAsyncImpl');
  }

  /** The same for a live run, which reads `context.liveRequestQueue` while it goes on. */
  runLive(parentContext: InvocationContext): AsyncGenerator<Event, void, undefined> {
    return this.#runAround(parentContext.forAgent(this), 'runLiveImpl');
  }

  /** The agent's own work. Errors that it throws end the run as they are. */
  protected abstract runAsyncImpl(context: InvocationContext): AsyncGenerator<Event, void, undefined>;

  /** The agent's own work in a live run. An agent without it has none. */
  protected runLiveImpl?(context: InvocationContext): AsyncGenerator<Event, void, undefined>;

  #runAround(ctx: InvocationContext, work: Work): AsyncGenerator<Event, void, undefined> {
    const {plugins} = ctx.run;
    const run = (): AsyncGenerator<Event, void, undefined> => this.#run(ctx, work);
    if (plugins) return plugins.aroundAgent(this, ctx, run);
    return this.beforeAgentCallback.length + this.afterAgentCallback.length > 0 ? this.#hooked(ctx, run) : run();
  }

  /** Loaded by who needs it: most agents have no callbacks around them. */
  async *#hooked(ctx: InvocationContext, run: () => AsyncGenerator<Event, void, undefined>): AsyncGenerator<Event, void, undefined> {
    const {betweenCallbacks} = await import('sluice/flow');
    yield* betweenCallbacks(this, ctx, ctx.live, run);
  }

  #run(ctx: InvocationContext, work: Work): AsyncGenerator<Event, void, undefined> {
    const events: unknown = this[work]?.(ctx);
    if (isGenerator(events)) return events as AsyncGenerator<Event, void, undefined>;
    throw new InvalidOptionError(`${this.name}.${work}`, 'an async generator method, `async *`', events);
  }
}

type Work = 'runAsyncImpl' | 'runLiveImpl';
