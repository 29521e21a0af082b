import {AsyncLocalStorage} from 'node:async_hooks';
import type {Lifetime} from '../async/lifetime.ts';
import {messageOf} from '../errors.ts';
import {isRecord} from '../schema/is-record.ts';
import {checkOptions, isName, isPositiveMs, isWholeNumber, optional} from '../schema/options.ts';
import type {ToolExecutor, WorkerCall} from '../tools/tool-executor.ts';
import {currentTelemetry, valuesOf, type CarriedStorage} from './carried.ts';
import type {Task} from './messages.ts';
import {PoolThread, type PoolThreadOptions} from './pool-thread.ts';
import {WorkerError} from './worker-errors.ts';

/** Runs one call. */
type Place = (call: WorkerCall) => Promise<unknown>;

/** The limits of a pool. A key whose value is `undefined` counts as absent. */
export interface WorkerPoolOptions {
  /** How many threads there may be. A call beyond waits for its turn. Default 8, whatever the number of cores: most bodies wait. */
  readonly maxThreads?: number | undefined;
  /** How long a thread without work stays, in milliseconds. It never holds the process. Default 5,000. */
  readonly idleMs?: number | undefined;
  /** The storages whose values, as they are when a call starts, the bodies see. The values are cloned. Default: none. */
  readonly asyncLocalStorages?: readonly CarriedStorage[] | undefined;
}

/**
 * A bounded pool of threads for tool bodies that live in modules. Threads are started when they are needed and end when they have been
 * idle; one that is terminated, because its body did not stop, is replaced.
 *
 * The threads are its own. The packages that pool them start the next one beside one that is still ending, do not say which thread has
 * a call, and hold the process for each that has.
 *
 * An agent without a pool of its own (`executor`) shares one of 8 threads with all others. `runner.close()` closes the pools that its
 * runs have used.
 *
 * @example
 * ```ts
 * import {FunctionTool, LlmAgent, ToolExecutionMode} from 'sluice';
 * import {WorkerPool} from 'sluice/workers';
 *
 * const getOrder = new FunctionTool({
 *   name: 'get_order',
 *   description: 'An order by its number.',
 *   parameters: {type: 'object', properties: {id: {type: 'string'}}, required: ['id']},
 *   worker: {module: new URL('./orders.js', import.meta.url), export: 'getOrder'},
 * });
 * const agent = new LlmAgent({name: 'clerk', model: 'gemini-2.5-flash', tools: [getOrder], executor: new WorkerPool({maxThreads: 4})});
 * ```
 */
export class WorkerPool implements ToolExecutor {
  readonly #storages: readonly CarriedStorage[];
  readonly #maxThreads: number;
  readonly #threadOptions: PoolThreadOptions;
  /** All that have not ended. */
  readonly #threads = new Set<PoolThread>();
  /** Who waits for a place, in the order in which they came. */
  readonly #waiting = new Set<(place: Place | undefined) => void>();

  /** @throws {@link InvalidOptionError} for an option that is unknown or cannot be used */
  constructor(options: WorkerPoolOptions = {}) {
    checkOptions<WorkerPoolOptions>('workerPool', options, {
      maxThreads: optional(isWholeNumber({min: 1})),
      idleMs: optional(isPositiveMs),
      asyncLocalStorages: optional({
        expected: 'an array of {storage: an AsyncLocalStorage, module: its URL, export: its name}',
        accepts: (value) => Array.isArray(value) && value.every(isCarriedStorage),
      }),
    });
    const {maxThreads = 8, idleMs = 5_000, asyncLocalStorages = []} = options;
    this.#storages = asyncLocalStorages;
    this.#maxThreads = maxThreads;
    this.#threadOptions = {
      idleMs,
      onReady: (thread) => this.#ready(thread),
      // Each was started for somebody who waits.
      onStartFailed: (cause) => void this.#give(({tool}) => Promise.reject(withoutThread(tool.name, cause))),
      onChange: () => this.#fill(),
    };
  }

  /** How many threads there are, those that are ending included. */
  get threads(): number {
    return this.#threads.size;
  }

  /** Waits for a thread, for the dispatch of tools. Nothing where `life` ends before. */
  enter(life: Lifetime): Promise<Place | undefined> {
    if (life.ended) return Promise.resolve(undefined);
    const {promise, resolve} = Promise.withResolvers<Place | undefined>();
    this.#waiting.add(resolve);
    life.onEnd(() => {
      if (!this.#waiting.delete(resolve)) return;
      resolve(undefined);
      this.#fill();
    });
    this.#fill();
    return promise;
  }

  /** Ends the threads that are idle now, and the others when they have done their work. A later call starts new ones. Idempotent. */
  async close(): Promise<void> {
    const isWanted = this.#waiting.size > 0;
    await Promise.all([...this.#threads].map((thread) => thread.close(isWanted)));
  }

  /** Sees to it that for each who waits a thread is about to be ready, as far as the bound allows. */
  #fill(): void {
    const threads = [...this.#threads];
    let lacking = this.#waiting.size - threads.filter(({isComing}) => isComing).length;
    for (const thread of threads) if (lacking > 0 && thread.ask()) lacking--;
    for (; lacking > 0 && this.#threads.size < this.#maxThreads; lacking--) this.#start();
    for (const thread of this.#threads) thread.hold(this.#waiting.size > 0);
  }

  #start(): void {
    try {
      const thread = new PoolThread(this.#threadOptions);
      this.#threads.add(thread);
      void thread.ended.then(() => {
        this.#threads.delete(thread);
        this.#fill();
      });
    } catch (cause) {
      this.#threadOptions.onStartFailed(cause);
    }
  }

  #ready(thread: PoolThread): void {
    if (!this.#give((call) => this.#run(call, thread))) thread.rest();
    this.#fill();
  }

  /** Gives a place to who has waited longest; returns whether somebody waits. */
  #give(place: Place): boolean {
    const [resolve] = this.#waiting;
    if (!resolve) return false;
    this.#waiting.delete(resolve);
    resolve(place);
    return true;
  }

  async #run(call: WorkerCall, thread: PoolThread): Promise<unknown> {
    let task: Task | undefined;
    let outcome: Promise<unknown>;
    try {
      call.life.throwIfEnded();
      task = taskOf(call, valuesOf(this.#storages));
      outcome = thread.run(task, call);
    } catch (error) {
      thread.rest();
      if (call.life.ended) throw call.life.reason;
      throw task ? uncloneable(task, error) : withoutThread(call.tool.name, error);
    }
    return outcome;
  }
}

function taskOf({tool: {name, worker}, args, context}: WorkerCall, stored: Task['stored']): Task {
  const {invocationId, agentName, userId, sessionId, appName, functionCallId} = context;
  return {
    tool: name,
    module: String(worker?.module),
    export: String(worker?.export),
    args,
    state: context.state.toRecord(),
    ids: {invocationId, agentName, userId, sessionId, appName, functionCallId},
    stored,
    telemetry: currentTelemetry(),
  };
}

function withoutThread(tool: string, cause: unknown): WorkerError {
  return new WorkerError(tool, `could not be given to a worker thread: ${messageOf(cause)}`, {cause});
}

/** Says which part of a task no message carries to another thread. */
function uncloneable({tool, args, stored}: Task, cause: unknown): WorkerError {
  const storage = stored.find(({value}) => !isCloneable(value));
  const what = storage && isCloneable(args) ? `the value of the AsyncLocalStorage \`${storage.export}\`` : 'its arguments';
  return new WorkerError(tool, `runs on a worker thread, and ${what} cannot be cloned: ${messageOf(cause)}`, {cause});
}

function isCloneable(value: unknown): boolean {
  try {
    structuredClone(value);
    return true;
  } catch {
    return false;
  }
}

function isCarriedStorage(value: unknown): boolean {
  const {storage, module, export: name} = isRecord(value) ? value : {};
  return storage instanceof AsyncLocalStorage && URL.canParse(String(module)) && isName.accepts(name);
}

/** The pool of all agents without one of their own. */
export const sharedWorkerPool: WorkerPool = new WorkerPool();
