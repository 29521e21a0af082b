import {MessageChannel, Worker, type MessagePort} from 'node:worker_threads';
import {Timers} from '../async/timers.ts';
import {messageOf} from '../errors.ts';
import type {WorkerCall} from '../tools/tool-executor.ts';
import {BodyCall} from './body-call.ts';
import type {Task, ThreadData, ToThread} from './messages.ts';

/** How long a thread may take to start, with what the program preloads into it (`--import`), in milliseconds. */
const START_MS = 10_000;
/** How long one without work may take to answer, in milliseconds. What a body has left behind could keep it from that for ever. */
const ANSWER_MS = 1_000;

/** Beside the entry: `thread.ts` in the sources, `thread.js` when built. */
const THREAD = new URL(import.meta.url.endsWith('.ts') ? './thread.ts' : './thread.js', import.meta.url);

export interface PoolThreadOptions {
  /** How long it stays without work, in milliseconds. */
  readonly idleMs: number;
  /** It is there, and has no work. The pool gives it a call at once, or lets it rest. */
  readonly onReady: (thread: PoolThread) => void;
  /** It will never be ready. */
  readonly onStartFailed: (cause: unknown) => void;
  /** It rests, or is to end: whoever waits may have to be seen to. */
  readonly onChange: () => void;
}

/** One thread of a pool, from its start to its end. It holds the process while its call waits for it, and where the pool says so. */
export class PoolThread {
  /** Resolves when it is gone. One that was told to end while it waits in a system call ends only after that. */
  readonly ended: Promise<void>;
  readonly #options: PoolThreadOptions;
  readonly #worker: Worker;
  readonly #port: MessagePort;
  readonly #timers = new Timers();
  #state: 'starting' | 'asked' | 'busy' | 'idle' | 'ending' = 'starting';
  #call: BodyCall | undefined;
  #endsAfterCall = false;

  /** @throws what the host says where it gives no thread */
  constructor(options: PoolThreadOptions) {
    const {port1, port2} = new MessageChannel();
    this.#options = options;
    this.#port = port1;
    // Not by the thread's `parentPort`, which bodies can reach: whatever they send there is heard by nobody.
    this.#worker = new Worker(THREAD, {workerData: {pool: port2} satisfies ThreadData, transferList: [port2]});
    this.#worker.unref();
    port1.on('message', () => this.#ready());
    port1.unref();
    this.ended = this.#watch();
    this.#timers.set(START_MS, () => {
      options.onStartFailed(new Error(`it did not start within ${START_MS} ms`));
      void this.end();
    });
  }

  /** Whether it is about to be ready. */
  get isComing(): boolean {
    return this.#state === 'starting' || this.#state === 'asked';
  }

  /** Where it rests, asks whether it is there; returns whether it rests. */
  ask(): boolean {
    if (this.#state !== 'idle') return false;
    this.#state = 'asked';
    this.#setTimer(ANSWER_MS);
    this.#post({kind: 'ask'});
    return true;
  }

  /** Runs a call. To be called where it is ready; what throws leaves it so. */
  run(task: Task, {life, graceMs}: WorkerCall): Promise<unknown> {
    const {port1, port2} = new MessageChannel();
    this.#post({kind: 'run', task, port: port2}, [port2]);
    this.#call = new BodyCall(port1, {
      tool: task.tool,
      life,
      graceMs,
      onOver: () => this.rest(),
      terminate: () => void this.end(),
    });
    return this.#call.outcome;
  }

  /** It has no work now. */
  rest(): void {
    this.#call = undefined;
    if (this.#endsAfterCall) void this.end();
    if (this.#state !== 'busy') return;
    this.#state = 'idle';
    this.#setTimer(this.#options.idleMs);
    this.#options.onChange();
  }

  /** Whether it is to hold the process beyond its call: while somebody waits for a thread. */
  hold(isWanted: boolean): void {
    if (isWanted) this.#port.ref();
    else this.#port.unref();
  }

  /**
   * Ends it now if it has no work, else after its work. Resolves when it has ended, at once where its work may take its time.
   *
   * @param isWanted - whether a call may be waiting for it
   */
  async close(isWanted: boolean): Promise<void> {
    if (this.#state !== 'busy' && !(isWanted && this.isComing)) return this.end();
    this.#endsAfterCall = true;
    if (this.#call?.isStopped) await this.ended;
  }

  /** Ends it whatever it does; resolves when it is gone. */
  end(): Promise<void> {
    if (this.#state !== 'ending') {
      this.#state = 'ending';
      this.#timers.clear();
      void this.#worker.terminate();
      this.#options.onChange();
    }
    return this.ended;
  }

  #ready(): void {
    if (!this.isComing) return;
    this.#state = 'busy';
    this.#timers.clear();
    this.#options.onReady(this);
  }

  async #watch(): Promise<void> {
    let failure: {readonly cause: unknown} | undefined;
    this.#worker.on('error', (cause: unknown) => (failure ??= {cause}));
    const exitCode = await new Promise((resolve) => this.#worker.once('exit', resolve));
    const state = this.#state;
    this.#state = 'ending';
    this.#timers.clear();
    this.#port.close();
    const cause = failure ? failure.cause : new Error(`it has ended by itself (exit code ${String(exitCode)})`);
    if (state === 'starting') this.#options.onStartFailed(cause);
    const isCalls = this.#call?.close(cause) ?? state === 'starting';
    // Nobody waits for what a body has left behind.
    if (failure && !isCalls && state !== 'ending') process.emitWarning(cause instanceof Error ? cause : messageOf(cause));
  }

  #setTimer(ms: number): void {
    this.#timers.clear();
    this.#timers.set(ms, () => void this.end());
  }

  #post(message: ToThread, transfer: readonly MessagePort[] = []): void {
    this.#port.postMessage(message, transfer);
  }
}
