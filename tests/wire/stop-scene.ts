/** A run over real HTTP, on its way to the moment at which it is stopped. */
import {
  FunctionTool,
  InMemorySessionService,
  LlmAgent,
  Runner,
  StreamingMode,
  type AppendEventRequest,
  type BaseTool,
  type Diagnostic,
  type Event,
  type Run,
  type RunConfig,
  type RunRequest,
} from 'sluice';
import {Gemini, type GeminiOptions} from 'sluice/gemini';
import {GeminiServer, ToolService, type GeminiReplySource} from 'sluice/testing';
import {idle} from '../stories/kit.ts';
import type {OurClock} from './our-clock.ts';
import {RUN_TIMEOUT_MS, type StoppableScene} from './stop-kinds.ts';

export interface SceneOptions {
  readonly replies: readonly GeminiReplySource[];
  readonly tools?: (service: ToolService) => readonly BaseTool[];
  readonly runConfig?: RunConfig;
  readonly gemini?: Partial<GeminiOptions>;
  /** The append that does not end until `openStore`, counted from 1. */
  readonly slowAppend?: number;
}

export class Scene implements AsyncDisposable, StoppableScene {
  readonly clock: OurClock;
  readonly server: GeminiServer;
  readonly service: ToolService;
  readonly store: SlowStore;
  readonly runner: Runner;
  readonly run: Run;
  readonly stop: AbortController = new AbortController();
  readonly diagnostics: Diagnostic[] = [];
  /** What the reader has got. */
  readonly events: Event[] = [];
  /** Resolves when the client has seen the headers of the model's first answer. */
  readonly headers: Promise<void>;

  static async start(options: SceneOptions, clock: OurClock): Promise<Scene> {
    const [server, service] = [await GeminiServer.start({replies: options.replies}), await ToolService.start({delayMs: 60_000})];
    const store = new SlowStore(options.slowAppend);
    await store.createSession({appName: 'app', userId: 'u', sessionId: 's'});
    return new Scene({clock, server, service, store}, options);
  }

  private constructor({clock, server, service, store}: Pick<Scene, 'clock' | 'server' | 'service' | 'store'>, options: SceneOptions) {
    const {tools, runConfig, gemini} = options;
    this.clock = clock;
    this.server = server;
    this.service = service;
    this.store = store;
    const headers = Promise.withResolvers<void>();
    this.headers = headers.promise;
    const watchedFetch: typeof fetch = async (input, init) => {
      const response = await fetch(input, init);
      headers.resolve();
      return response;
    };
    const model = new Gemini({model: 'gemini-2.5-flash', apiKey: 'k', ...gemini, httpOptions: {baseUrl: server.url, fetch: watchedFetch}});
    const agent = new LlmAgent({name: 'root', model, tools: [...(tools?.(service) ?? [])]});
    this.runner = new Runner({
      appName: 'app',
      agent,
      sessionService: store,
      onDiagnostic: (it) => this.diagnostics.push(it),
      // Whoever else has the processor is no fault of a tool's.
      runConfig: {streamingMode: StreamingMode.SSE, timeoutMs: RUN_TIMEOUT_MS, blockedLoopMs: Infinity, ...runConfig},
    });
    this.run = this.start();
  }

  /** A run on the scene's session. */
  start(request: Partial<RunRequest> = {}): Run {
    const newMessage = {role: 'user', parts: [{text: 'go'}]};
    return this.runner.runAsync({userId: 'u', sessionId: 's', newMessage, abortSignal: this.stop.signal, ...request});
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

  async [Symbol.asyncDispose](): Promise<void> {
    await this.run.return();
    await Promise.all([this.server.close(), this.service.close()]);
  }
}

/** A store of which one append waits until it is let through. */
export class SlowStore extends InMemorySessionService {
  readonly #slow: number | undefined;
  readonly #gate = Promise.withResolvers<void>();
  readonly #writing = Promise.withResolvers<void>();
  #appends = 0;

  constructor(slow: number | undefined) {
    super();
    this.#slow = slow;
  }

  /** Resolves when the slow append has begun. */
  get writing(): Promise<void> {
    return this.#writing.promise;
  }

  open(): void {
    this.#gate.resolve();
  }

  override async appendEvent(request: AppendEventRequest): Promise<Event> {
    if (++this.#appends === this.#slow) {
      this.#writing.resolve();
      await this.#gate.promise;
    }
    return super.appendEvent(request);
  }
}

/** A tool that asks the service, which takes its time, and passes its signal on. */
export function fetching(service: ToolService, name: string): FunctionTool {
  return new FunctionTool({
    name,
    description: 'Asks a service.',
    execute: async (_args, {abortSignal}) => (await fetch(`${service.url}/${name}`, {signal: abortSignal})).text(),
  });
}

/** The same, which first shows that it has begun. */
export function showing(service: ToolService, name: string): FunctionTool {
  return new FunctionTool({
    name,
    description: 'Asks a service, and says so.',
    async *execute(_args, {abortSignal}) {
      const asking = fetch(`${service.url}/${name}`, {signal: abortSignal});
      asking.catch(() => {});
      yield 'asking';
      return (await asking).text();
    },
  });
}

export const quick: FunctionTool = new FunctionTool({name: 'quick', description: 'Answers at once.', execute: () => 'ready'});

/** Waits, turn by turn of the event loop, for something that comes by itself. */
export async function until(isThere: () => boolean): Promise<void> {
  while (!isThere()) await idle();
}

/** Lets pass what may still be on its way. */
export async function turns(count = 20): Promise<void> {
  for (let turn = 0; turn < count; turn++) await idle();
}
