/** One conversation over a double, which is stopped after so many promise jobs. */
import {getEventListeners} from 'node:events';
import {
  InMemorySessionService,
  LiveRequestQueue,
  LlmAgent,
  Runner,
  type LlmAgentConfig,
  type AppendEventRequest,
  type Diagnostic,
  type Event,
  type Run,
  type RunOutcome,
} from 'sluice';
import {fire, type FiredStop} from '../../lib/testing/schedule-explorer/fire.ts';
import type {PromiseJobs} from '../../lib/testing/schedule-explorer/promise-jobs.ts';
import {Reader} from '../../lib/testing/schedule-explorer/reader.ts';
import type {StopKind} from '../../lib/testing/schedule-explorer/schedule.ts';
import {World} from '../../lib/testing/schedule-explorer/world.ts';
import {DoubleLlm, type DoubleScript} from './stop-double.ts';
import {DoubleUser, scripts, scriptedTools, ticks} from './stop-script.ts';

export interface JobStop {
  readonly kind: StopKind;
  /** After so many promise jobs since the first next(), from 1; or when a reader that pauses leaves nothing else to do. */
  readonly job: number;
  /** The reader asks no more after so many Events. Default: it always asks on. */
  readonly pauseAfter?: number | undefined;
  /** Whether the hooks, the store and the toolset take their time, too. Default: false. */
  readonly slow?: boolean;
}

/** What is said over the connections, one after the other, and who stands below the agent. */
export interface Cast {
  readonly scripts: readonly DoubleScript[];
  readonly below?: readonly string[];
}

const KEY = {userId: 'u', sessionId: 's'};

/** Plays the conversation to its end, with a stop or without. */
export async function play(jobs: PromiseJobs, stop?: JobStop, cast: Cast = {scripts}): Promise<Played> {
  using world = new World(jobs);
  const store = stop?.slow ? new SlowStore() : new InMemorySessionService();
  await store.createSession({appName: 'app', ...KEY});
  const played = new Played(world, {store, stop, cast});
  await played.toTheEnd();
  return played;
}

/** A store whose writes take a while. */
class SlowStore extends InMemorySessionService {
  override async appendEvent(request: AppendEventRequest): Promise<Event> {
    await ticks(5);
    return super.appendEvent(request);
  }
}

/** A run, and what there is to see of it afterwards. */
export class Played {
  readonly store: InMemorySessionService;
  readonly queue: LiveRequestQueue = new LiveRequestQueue({highWaterMark: 1});
  readonly user: DoubleUser = new DoubleUser(this.queue);
  readonly model: DoubleLlm;
  readonly reader: Reader;
  readonly diagnostics: Diagnostic[] = [];
  readonly unhandled: unknown[] = [];
  /** What the run did with the model, tools and hooks: before the stop, and after it. */
  readonly did: string[] = [];
  readonly late: string[] = [];
  stored: readonly Event[] = [];
  fired: FiredStop | undefined;
  /** Promise jobs in all. */
  jobs = 0;
  left = {timers: 0, listeners: 0};
  readonly #world: World;
  readonly #stop: JobStop | undefined;
  readonly #runner: Runner;
  readonly #controller = new AbortController();
  readonly #run: Run;
  #settled: {readonly outcome: RunOutcome; readonly ms: number} | undefined;

  constructor(world: World, {store, stop, cast}: {store: InMemorySessionService; stop: JobStop | undefined; cast: Cast}) {
    this.#world = world;
    this.#stop = stop;
    this.store = store;
    this.model = new DoubleLlm(cast.scripts, this.#note);
    const config = {
      model: this.model,
      tools: scriptedTools(this.queue, this.user, this.#note),
      beforeToolCallback: ({tool}) => this.#note(`before ${tool.name}`),
      ...(stop?.slow && {
        instruction: () => ticks(3).then(() => 'Be brief.'),
        beforeModelCallback: () => ticks(3),
        afterModelCallback: () => ticks(3),
        afterToolCallback: () => ticks(3),
        afterAgentCallback: () => ticks(3),
      }),
    } satisfies Partial<LlmAgentConfig>;
    const subAgents = (cast.below ?? []).map((name) => new LlmAgent({...config, name}));
    const agent = new LlmAgent({...config, name: 'root', subAgents});
    this.#runner = new Runner({appName: 'app', agent, sessionService: store, onDiagnostic: (it) => this.diagnostics.push(it)});
    this.#run = this.#runner.runLive({...KEY, liveRequestQueue: this.queue, abortSignal: this.#controller.signal});
    this.reader = new Reader({run: this.#run, watch: world.watch, pauseAfter: stop?.pauseAfter ?? Infinity, pulls: 1});
    void this.#run.settled.then((outcome) => (this.#settled = {outcome, ms: world.clock.nowMs}));
    this.user.say('go');
  }

  get outcome(): RunOutcome {
    if (!this.#settled) throw new TypeError('The run has not settled');
    return this.#settled.outcome;
  }

  /** Virtual milliseconds from the stop to the end of the run. */
  get ms(): number {
    const stopped = this.reader.left ?? this.fired?.at;
    return (this.#settled?.ms ?? Infinity) - (stopped?.ms ?? 0);
  }

  async toTheEnd(): Promise<void> {
    const {jobs, timers} = this.#world;
    const start = jobs.count;
    const noteUnhandled = (reason: unknown): void => void this.unhandled.push(reason);
    process.on('unhandledRejection', noteUnhandled);
    jobs.onJob = () => {
      if (jobs.count - start === this.#stop?.job) this.#fire();
    };
    try {
      await this.#world.turn(() => void this.reader.read());
      while (!this.#isOver()) await this.#goOn();
    } finally {
      process.off('unhandledRejection', noteUnhandled);
      jobs.onJob = () => {};
    }
    this.jobs = jobs.count - start;
    this.left = {timers: timers.count, listeners: getEventListeners(this.#controller.signal, 'abort').length};
    this.stored = (await this.store.getSession({appName: 'app', ...KEY}))?.events ?? [];
  }

  #isOver(): boolean {
    return this.reader.over && this.#settled !== undefined && (!this.fired?.answers || this.fired.result !== undefined);
  }

  /** The next turn: time passes, where something waits for it; a reader that pauses goes on once the run is stopped. */
  async #goOn(): Promise<void> {
    const {clock} = this.#world;
    const isDue = (clock.pending[0]?.dueMs ?? Infinity) - clock.nowMs <= 1;
    if (!this.reader.paused || isDue) await this.#world.pass('the end of the run');
    else if (this.#stop && !this.fired) await this.#world.turn(() => this.#fire());
    else await this.#world.turn(() => this.reader.resume());
  }

  #fire(): void {
    if (!this.#stop || this.fired) return;
    const {kind, job} = this.#stop;
    const {watch} = this.#world;
    const target = {runner: this.#runner, run: this.#run, reader: this.reader, controller: this.#controller, ...KEY, watch};
    this.fired = fire({kind, after: 'start', jobs: job}, {...target, open: () => undefined});
  }

  readonly #note = (what: string): void => {
    // Who leaves by `break` does so at the next Event.
    const isStopped = this.fired !== undefined && (this.#stop?.kind !== 'break' || this.reader.left !== undefined);
    (isStopped ? this.late : this.did).push(what);
  };
}
