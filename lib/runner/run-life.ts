import {Gate} from '../async/gate.ts';
import {Grace} from '../async/grace.ts';
import {Lifetime} from '../async/lifetime.ts';
import {Timers} from '../async/timers.ts';
import {blockedLoop, type Diagnostic} from '../agents/diagnostic.ts';
import {LlmCalls} from '../agents/llm-calls.ts';
import {OpenWork, type Unfinished} from '../agents/open-work.ts';
import type {ResolvedRunConfig} from '../agents/run-config.ts';
import type {RunScope} from '../agents/run-scope.ts';
import {watchLoop, type LoopWatch} from '../dispatch/loop-watch.ts';
import {RunTimeoutError} from '../errors.ts';
import type {Event} from '../events/event.ts';
import {RunClosing} from './run-closing.ts';
import type {Ending, RunOutcome} from './run-outcome.ts';
import type {SessionWriter} from './session-writer.ts';

// Made once: an exception captures its stack, which costs more than all else that ends a run.
const READER_LEFT = new DOMException('The reader left the run', 'AbortError');
const RUN_ENDED = new DOMException('The run has ended', 'AbortError');

/** How a run starts. */
export interface RunSetup {
  readonly config: ResolvedRunConfig;
  readonly abortSignal: AbortSignal | undefined;
  readonly diagnose: (diagnostic: Diagnostic) => void;
  /** Waits for the run's turn and starts its loop. */
  begin(life: RunLife): Promise<AsyncGenerator<Event, void, undefined>>;
  /** Called when the run starts. */
  readonly onStart: () => void;
  /** Called once the run has ended. */
  readonly onEnd: () => void;
}

/** A started run: everything that it holds, and how it lets go of it. */
export class RunLife {
  readonly config: ResolvedRunConfig;
  readonly timers: Timers = new Timers();
  readonly life: Lifetime = new Lifetime();
  readonly grace: Grace;
  readonly gate: Gate;
  readonly watch: LoopWatch;
  #open = new OpenWork();
  #llmCalls: LlmCalls;
  #writer: SessionWriter | undefined;
  /** Gives the session back. */
  release: () => void = () => {};
  /** What else has to be undone when the run ends. */
  cleanUp: (() => Promise<unknown>) | undefined;
  #waits = false;
  /** The last Event whose errorCode no later one has made up for, or one without. */
  #failed: Event | undefined;
  readonly #setup: RunSetup;
  readonly #abandoned: string[] = [];
  /** The conflicts that its owner knows of: a loop that is replayed comes upon them again. */
  readonly #conflicts = new Set<string>();
  readonly #unlisten: () => void;
  #generator: AsyncGenerator<Event, void, undefined> | undefined;
  #pulling: Promise<unknown> | undefined;

  constructor(setup: RunSetup, end: (ending: Ending) => void) {
    const {config, abortSignal} = setup;
    this.#setup = setup;
    setup.onStart();
    this.config = config;
    this.grace = new Grace(this.life, config.abortGraceMs, this.timers);
    this.gate = new Gate(config.maxConcurrentTools);
    this.watch = watchLoop(config.blockedLoopMs, this.timers, (...told) => this.diagnose(blockedLoop(...told)));
    this.#llmCalls = new LlmCalls(config.maxLlmCalls);
    this.timers.set(config.timeoutMs, () => end({kind: 'timeout', failure: {reason: new RunTimeoutError(config.timeoutMs)}}));
    const onAbort = (): void => end({kind: 'abort', failure: {reason: abortSignal?.reason}});
    abortSignal?.addEventListener('abort', onAbort, {once: true});
    // First a constant: V8 puts a function that is written straight into a property into its old generation, and what that function sees,
    // the whole run, would outlive it there until the next full collection.
    const unlisten = (): void => abortSignal?.removeEventListener('abort', onAbort);
    this.#unlisten = unlisten;
  }

  /** Whether the run's last whole Event left calls that wait. */
  get waits(): boolean {
    return this.#waits;
  }

  /** What all agents of the run share. */
  get shared(): Pick<RunScope, 'config' | 'life' | 'timers' | 'gate' | 'watch' | 'llmCalls' | 'open' | 'diagnose'> {
    const {config, life, timers, gate, watch, diagnose} = this;
    return {config, life, timers, gate, watch, diagnose, llmCalls: this.#llmCalls, open: this.#open};
  }

  /** An attempt at the loop begins: what an earlier one had under way went with it. */
  begin(): void {
    this.#open = new OpenWork();
    this.#llmCalls = new LlmCalls(this.config.maxLlmCalls);
    this.#failed = undefined;
  }

  /**
   * The attempt has its session.
   *
   * @param waits - whether calls of an earlier run still wait, whatever this one brings
   * @param answers - what its message answers, which it may leave half done
   */
  use(writer: SessionWriter, waits = false, answers?: Unfinished): void {
    this.#writer = writer;
    this.#waits = waits;
    if (answers) this.#open.add(answers);
  }

  /** Whether a whole Event of the agent's may still be stored: after a stop only one that completes work. */
  accepts(event: Event): boolean {
    const completes = typeof event === 'object' && event !== null && this.#open.takeCompleted(event);
    return completes || !this.life.ended;
  }

  /** A whole Event of the agent's was stored. */
  stored(event: Event): void {
    this.#waits = (event.longRunningToolIds?.length ?? 0) > 0;
    if (event.errorCode !== undefined) this.#failed = event;
    // The answer to the calls of a reply that cannot be used says nothing new about that reply, nor does state, and no branch about another.
    if (!event.content || (event.content.role === 'user' && event.content.parts?.some((part) => part.functionResponse))) return;
    if (!event.branch || `${this.#failed?.branch}.`.startsWith(`${event.branch}.`)) this.#failed = event;
  }

  readonly diagnose = (diagnostic: Diagnostic): void => {
    if (diagnostic.code === 'STATE_CONFLICT') {
      if (this.#conflicts.has(diagnostic.message)) return;
      this.#conflicts.add(diagnostic.message);
    }
    if (diagnostic.code === 'TOOL_ABANDONED' || diagnostic.code === 'WORK_ABANDONED') this.#abandoned.push(diagnostic.name);
    this.#setup.diagnose(diagnostic);
  };

  /** Asks the loop for its next Event. */
  readonly pull = (): Promise<IteratorResult<Event, void>> => {
    const pulling = this.#generator ? this.#generator.next() : this.#begin();
    this.#pulling = pulling;
    return pulling;
  };

  /** Ends all work, waits for it as long as it may take, and stores what is to be stored. Never rejects. */
  async close(ending: Ending): Promise<void> {
    const stopped = ending.failure !== undefined || ending.kind === 'return';
    if (stopped) {
      this.life.end(ending.failure ? ending.failure.reason : READER_LEFT);
      this.gate.clear();
    }
    await new RunClosing({
      config: this.config,
      timers: this.timers,
      grace: this.grace,
      diagnose: this.diagnose,
      open: this.#open,
      writer: this.#writer,
      cleanUp: this.cleanUp,
      loop: () => ({generator: this.#generator, pulling: this.#pulling}),
    }).run(stopped, ending.kind === 'error' || ending.kind === 'limit' ? ending.failure : undefined);
    this.release();
  }

  /** Lets go of the last things: the caller's signal and the timers. */
  end(): void {
    this.#unlisten();
    this.life.end(RUN_ENDED);
    // Last, since the end of a life starts the clock of its grace.
    this.timers.clear();
    this.#setup.onEnd();
  }

  /** What there is to tell of the run. */
  told(): Pick<RunOutcome, 'errorCode' | 'usage' | 'llmCalls' | 'abandoned' | 'lastEventId'> {
    const {usage, count} = this.#llmCalls;
    const errorCode = this.#failed?.errorCode;
    return {
      usage,
      llmCalls: count,
      abandoned: this.#abandoned,
      lastEventId: this.#writer?.lastEventId,
      ...(errorCode !== undefined && {errorCode}),
    };
  }

  async #begin(): Promise<IteratorResult<Event, void>> {
    const generator = await this.#setup.begin(this);
    this.life.throwIfEnded();
    this.#generator = generator;
    return generator.next();
  }
}
