import {type BaseAgent, InvocationContext} from '../agents/base-agent.ts';
import {resolveRunConfig} from '../agents/run-config.ts';
import type {Content} from '../content.ts';
import {RunCancelledError, RunnerClosedError} from '../errors.ts';
import type {Event} from '../events/event.ts';
import {copyJson} from '../schema/json-copy.ts';
import {checkOptions, isMs, optional} from '../schema/options.ts';
import type {BaseSessionService} from '../sessions/base-session-service.ts';
import {inProcessEngine} from '../steps/in-process-steps.ts';
import type {StepEngine} from '../steps/steps.ts';
import {openSession} from './open-session.ts';
import type {RewindRequest} from './rewind.ts';
import {readAnswers} from './read-answers.ts';
import {checkEvent, userEvent} from './run-events.ts';
import {Run} from './run.ts';
import type {RunResult} from './run-result.ts';
import type {RunSetup} from './run-life.ts';
import {agentToAnswer, pluginHooks, runHost, runSetup, type Flow, type RunHost} from './run-setup.ts';
import {liveSetup} from './live-setup.ts';
import type {LiveRunRequest} from './live-run-request.ts';
import {checkRunRequest, type EphemeralRunRequest, type RunRequest, type RunSelector} from './run-request.ts';
import {checkRunnerConfig, type RunnerConfig} from './runner-config.ts';
import type {SessionWriter} from './session-writer.ts';
import {StoredEvents} from './stored-events.ts';

/**
 * Runs an agent over the sessions of an app.
 *
 * @example
 * ```ts
 * import {InMemorySessionService, LlmAgent, Runner, stringifyContent} from 'sluice';
 *
 * const agent = new LlmAgent({name: 'clerk', model: 'gemini-2.5-flash', instruction: 'Answer briefly.'});
 * const runner = new Runner({appName: 'office', agent, sessionService: new InMemorySessionService(), autoCreateSession: true});
 * const run = runner.runAsync({userId: 'u', sessionId: 's', newMessage: {role: 'user', parts: [{text: 'Hello?'}]}});
 * for await (const event of run) console.log(stringifyContent(event));
 * ```
 */
export class Runner<T = unknown> implements AsyncDisposable {
  readonly appName: string;
  readonly agent: BaseAgent;
  readonly sessionService: BaseSessionService;
  readonly #host: RunHost;
  readonly #engine: StepEngine;
  #closed: Promise<void> | undefined;

  /** @throws {@link InvalidOptionError} where an option cannot be used */
  constructor(config: RunnerConfig<T>) {
    checkRunnerConfig(config);
    this.#engine = config.stepEngine ?? inProcessEngine;
    this.#host = runHost(config);
    this.appName = config.appName;
    this.agent = config.agent;
    this.sessionService = config.sessionService;
  }

  /**
   * Runs the agent on a message. Cold: nothing happens, and nothing is checked, before the first `next()`.
   *
   * Leaving the loop, `return()`, `await using` and `abortSignal` end the model's request, the tools and everything else that the run has
   * started, and leave a session that is valid: every function call in it has its response.
   *
   * @throws through `next()`: {@link InvalidOptionError}, {@link SessionNotFoundError}, {@link SessionBusyError},
   * {@link FunctionResponseError}, {@link ModelError}, {@link HookError}, {@link LlmCallsLimitExceededError}, {@link RunTimeoutError},
   * {@link RunCancelledError}, {@link RunnerClosedError}, {@link SessionConflictError}, the reason of `abortSignal`, or what an agent or a
   * store of the user's threw
   */
  runAsync(request: RunRequest): Run {
    return this.#run((run) => this.#prepare(run, request, this.#host.autoCreateSession));
  }

  /**
   * Reads a run to its end, and resolves to what it came to. Without `sessionId` the session is the run's own, and goes with it.
   *
   * @throws what {@link Runner.runAsync} throws; {@link RunIncompleteError} where the run waits for an answer, or has no usable reply
   */
  async run(request: EphemeralRunRequest & {readonly sessionId?: string | undefined}): Promise<RunResult<T>> {
    const {sessionId, ...rest} = request;
    const run = sessionId === undefined ? this.runEphemeral(rest) : this.runAsync({...rest, sessionId});
    return (await import('sluice/flow')).readRun<T>(run, this.agent);
  }

  /** As `runAsync`, in a session of its own that is deleted when the run ends. */
  runEphemeral(request: EphemeralRunRequest): Run {
    const sessionId = crypto.randomUUID();
    const cleanUp = (): Promise<void> => this.sessionService.deleteSession({appName: this.appName, userId: request.userId, sessionId});
    return this.#run((run) => this.#prepare(run, {...request, sessionId}, true, cleanUp));
  }

  /**
   * Talks to the agent's model over a live connection: what the user puts into `liveRequestQueue` goes out while Events come in. Cold, and
   * stopped, as `runAsync`; a stop closes the socket. It holds its session alone: other runs on it get {@link SessionBusyError} at once.
   *
   * It goes on ahead of its reader: tools run when they are called, and Events wait, up to `runConfig.liveBufferBytes`. It is done when the
   * queue is closed and the last turn is over, and closes the queue at any other end. Sound is passed on; what was said is stored as text.
   * @throws through `next()`: as `runAsync`, and {@link LiveOverflowError}
   */
  runLive(request: LiveRunRequest): Run {
    const run = this.#run((it) => liveSetup(this.#host, it, request));
    // What is no queue cannot be closed either: who asks for an Event is told.
    run.settled.then(() => request.liveRequestQueue.discard()).catch(() => {});
    return run;
  }

  /**
   * Takes back a run and all after it: their Events stay in the store, but no later run sees them. What they wrote to the session's own state
   * and files becomes what it was; `app:` and `user:` keys and files stay. Waits for runs under way. An abort may leave it half done: do it again.
   * Resolves to the Event that tells it.
   * @throws {@link InvalidOptionError} for a run that is not there; as `runAsync`
   */
  async rewind(request: RewindRequest): Promise<Event> {
    return (await import('sluice/flow')).rewind(this.#host, (prepare) => this.#run(prepare), request);
  }

  /**
   * Stops runs that have been started, from anywhere in the process: their `next()` rejects with `reason`, by default a
   * {@link RunCancelledError}.
   *
   * @returns how many were stopped, once they have ended
   */
  async cancel(selector: RunSelector, reason: unknown = new RunCancelledError()): Promise<number> {
    const {invocationId, ...session} = selector;
    const runs = [...this.#host.runs].filter(([run, {userId, sessionId}]) =>
      'userId' in session ? userId === session.userId && sessionId === session.sessionId : run.invocationId === invocationId,
    );
    await Promise.all(runs.map(([run]) => run.stop(reason)));
    return runs.length;
  }

  /**
   * Starts no run any more, waits for those under way, stops what is left after `timeoutMs` (default 5,000) with a
   * {@link RunnerClosedError}, and closes the toolsets and worker pools. Calls share one closing.
   *
   * @throws {@link InvalidOptionError} for a deadline that cannot be used; what fails while closing is a diagnostic
   */
  async close(options: {readonly timeoutMs?: number | undefined} = {}): Promise<void> {
    checkOptions('close', options, {timeoutMs: optional(isMs)});
    const {timeoutMs = 5_000} = options;
    this.#closed ??= import('sluice/flow').then(({closeRunner}) => closeRunner(this.#host, timeoutMs));
    return this.#closed;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  #run(prepare: (run: Run) => RunSetup): Run {
    return new Run((run) => {
      if (this.#closed) throw new RunnerClosedError();
      return prepare(run);
    });
  }

  #prepare(run: Run, given: RunRequest, create: boolean, cleanUp?: () => Promise<void>): RunSetup {
    const config = resolveRunConfig([given?.runConfig, this.#host.runConfig], this.#host.unused);
    checkRunRequest(given, config);
    const request = {...given, newMessage: copyJson(given.newMessage)};
    return runSetup(this.#host, run, {request, config, exclusive: false}, (life) => {
      life.cleanUp = cleanUp;
      return this.#engine.drive((steps) => this.#flow({invocationId: run.invocationId, request, create, steps, life}));
    });
  }

  /** One run, from the user's message to the last Event: the agent's Events, each whole one stored before the reader gets it. */
  #flow({invocationId, request, create, steps, life}: Flow): AsyncGenerator<Event, void, undefined> {
    let writer: SessionWriter;
    return new StoredEvents({
      open: async () => {
        life.begin();
        writer = await openSession({service: this.sessionService, appName: this.appName, request, create, steps, life});
        life.life.throwIfEnded();
        const {session} = writer;
        const answers = await readAnswers(session.events, request.newMessage, this.agent);
        life.life.throwIfEnded();
        const message = answers?.message ?? request.newMessage;
        life.use(writer, answers?.siblingsWait, answers);
        const plugins = await pluginHooks(this.#host);
        const agent = answers?.agent ?? (await agentToAnswer(this.agent, session.events));
        const contextOf = (userContent: Content): InvocationContext =>
          new InvocationContext({...scope, session, plugins, userContent: copyJson(userContent)}, agent);
        const scope = {...life.shared, invocationId, steps, sessionService: this.sessionService, services: this.#host.services};
        let ctx = contextOf(message);
        const newMessage = plugins ? await plugins.userMessage(ctx, message) : message;
        if (newMessage !== message) ctx = contextOf(newMessage);
        await writer.append(await userEvent(invocationId, {...request, newMessage}, steps), steps);
        if (answers?.siblingsWait) return undefined;
        if (!plugins) return agent.runAsync(ctx);
        writer.review = (event, at) => plugins.review(ctx, event, at);
        return plugins.aroundRun(ctx, () => agent.runAsync(ctx));
      },
      throwIfEnded: () => life.life.throwIfEnded(),
      accepts: (event) => life.accepts(event),
      store: async (given) => {
        const stored = await writer.append(checkEvent(given, invocationId, this.agent.name), steps);
        life.stored(stored);
        return stored;
      },
    });
  }
}
