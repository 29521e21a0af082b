/** A live run over real sockets, on its way to the moment at which it is stopped. */
import {
  FunctionTool,
  LiveRequestQueue,
  LlmAgent,
  Runner,
  type BaseTool,
  type BaseToolset,
  type Context,
  type Diagnostic,
  type Event,
  type FunctionToolOptions,
  type LlmAgentConfig,
  type LiveRequestQueueOptions,
  type Run,
  type RunConfig,
  type RunnerConfig,
} from 'sluice';
import {Gemini, type GeminiOptions} from 'sluice/gemini';
import {GeminiLiveServer, ToolService, type LiveScript, type LiveServerSession, type LiveSessionOptions} from 'sluice/testing';
import type {LiveRunRequest} from '../../lib/runner/live-run-request.ts';
import type {OurClock} from '../wire/our-clock.ts';
import {RUN_TIMEOUT_MS, type StoppableScene} from '../wire/stop-kinds.ts';
import {SlowStore} from '../wire/stop-scene.ts';

export interface SceneOptions {
  /** What the server does in each connection. */
  readonly sessions?: readonly (LiveScript | {readonly script: LiveScript; readonly options: LiveSessionOptions})[];
  /** What the user says before the run starts. Default: `go`. */
  readonly input?: (scene: Scene) => void;
  readonly queue?: LiveRequestQueueOptions;
  /** What was said in an earlier run. */
  readonly earlier?: readonly Event[];
  readonly tools?: (scene: Scene) => readonly (BaseTool | BaseToolset)[];
  readonly agent?: (scene: Scene) => Partial<LlmAgentConfig>;
  readonly runConfig?: RunConfig;
  readonly runner?: (scene: Scene) => Partial<RunnerConfig>;
  readonly gemini?: () => Partial<GeminiOptions> | Promise<Partial<GeminiOptions>>;
  /** The append that does not end until `store.open()`, counted from 1. */
  readonly slowAppend?: number;
}

interface Surroundings {
  readonly clock: OurClock;
  readonly server: GeminiLiveServer;
  readonly service: ToolService;
  readonly store: SlowStore;
  readonly gemini: Partial<GeminiOptions>;
}

export class Scene implements AsyncDisposable, StoppableScene {
  readonly clock: OurClock;
  readonly server: GeminiLiveServer;
  readonly service: ToolService;
  readonly store: SlowStore;
  readonly queue: LiveRequestQueue;
  readonly runner: Runner;
  readonly run: Run;
  readonly stop: AbortController = new AbortController();
  readonly diagnostics: Diagnostic[] = [];
  readonly events: Event[] = [];
  /** What each send to the queue gave: resolved when there is room. */
  readonly sends: Promise<void>[] = [];
  /** User code that was entered, in order: `tool a`, `beforeModelCallback` ... */
  readonly entered: string[] = [];
  /** Lets code of the user's go on that takes its time. */
  readonly letGo: PromiseWithResolvers<void> = Promise.withResolvers<void>();

  static async start(options: SceneOptions, clock: OurClock): Promise<Scene> {
    const [server, service] = [await GeminiLiveServer.start(), await ToolService.start({delayMs: 60_000})];
    for (const it of options.sessions ?? []) {
      if ('script' in it) server.session(it.script, it.options);
      else server.session(it);
    }
    const store = new SlowStore(options.slowAppend === undefined ? undefined : options.slowAppend + (options.earlier?.length ?? 0));
    const session = await store.createSession({appName: 'app', userId: 'u', sessionId: 's'});
    for (const event of options.earlier ?? []) await store.appendEvent({session, event});
    return new Scene({clock, server, service, store, gemini: (await options.gemini?.()) ?? {}}, options);
  }

  private constructor({clock, server, service, store, gemini}: Surroundings, options: SceneOptions) {
    const {input = (scene: Scene) => scene.say('go'), tools, agent, runConfig, runner, queue} = options;
    this.clock = clock;
    this.server = server;
    this.service = service;
    this.store = store;
    const model = new Gemini({
      model: 'gemini-live-2.5-flash-preview',
      ...(!gemini.project && {apiKey: 'k'}),
      httpOptions: {baseUrl: server.url},
      ...gemini,
    });
    const afterAgentCallback = (): void => this.enter('afterAgentCallback');
    const root = new LlmAgent({name: 'root', model, tools: tools?.(this) ?? [], afterAgentCallback, ...agent?.(this)});
    this.runner = new Runner({
      appName: 'app',
      agent: root,
      sessionService: store,
      onDiagnostic: (it) => this.diagnostics.push(it),
      // Whoever else has the processor is no fault of a tool's.
      runConfig: {timeoutMs: RUN_TIMEOUT_MS, blockedLoopMs: Infinity, ...runConfig},
      ...runner?.(this),
    });
    this.queue = new LiveRequestQueue({highWaterMark: 1, ...queue});
    input(this);
    this.run = this.start({liveRequestQueue: this.queue, abortSignal: this.stop.signal});
  }

  /** A live run on the scene's session. */
  start(request: Pick<LiveRunRequest, 'liveRequestQueue' | 'abortSignal' | 'runConfig'>): Run {
    return this.runner.runLive({userId: 'u', sessionId: 's', ...request});
  }

  say(text: string): void {
    this.sends.push(this.queue.sendContent({role: 'user', parts: [{text}]}));
  }

  hear(data: string): void {
    this.sends.push(this.queue.sendRealtime({mimeType: 'audio/pcm;rate=16000', data}));
  }

  enter(what: string): void {
    this.entered.push(what);
  }

  /** Code of the user's that takes its time, and ends when its signal fires. */
  heeding(what: string, context: Pick<Context, 'abortSignal'> | undefined): Promise<void> {
    this.enter(what);
    return new Promise((resolve, reject) => {
      context?.abortSignal.addEventListener('abort', () => reject(context.abortSignal.reason as Error), {once: true});
      void this.letGo.promise.then(resolve);
    });
  }

  /** Code of the user's that takes its time whatever its signal says. */
  deaf(what: string): Promise<void> {
    this.enter(what);
    return this.letGo.promise;
  }

  /** The server's side of the connection that was asked for as the so-manieth, from 0. */
  session(at = 0): LiveServerSession {
    const session = this.server.sessions[at];
    if (!session) throw new TypeError(`There is no connection ${at}`);
    return session;
  }

  async read(count: number): Promise<void> {
    for (let n = 0; n < count; n++) {
      const {value} = await this.run.next();
      if (value) this.events.push(value);
    }
  }

  async stored(): Promise<Event[]> {
    return (await this.store.getSession({appName: 'app', userId: 'u', sessionId: 's'}))?.events ?? [];
  }

  /** A tool that notes that its body has begun. */
  tool(name: string, execute: NonNullable<FunctionToolOptions['execute']>, options: Partial<FunctionToolOptions> = {}): FunctionTool {
    return new FunctionTool({
      name,
      description: 'A tool.',
      ...options,
      execute: (args, context) => {
        this.enter(`tool ${name}`);
        return execute(args, context);
      },
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.letGo.resolve();
    this.store.open();
    await this.run.return();
    await Promise.all([this.server.close(), this.service.close()]);
  }
}
