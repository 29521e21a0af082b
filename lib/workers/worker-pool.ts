import {AsyncLocalStorage} from 'node:async_hooks';
import {Tinypool} from 'tinypool';
import {MessageChannel} from 'node:worker_threads';
import type {Lifetime} from '../async/lifetime.ts';
import {messageOf} from '../errors.ts';
import {isRecord} from '../schema/is-record.ts';
import {checkOptions, isName, isPositiveMs, isWholeNumber, optional} from '../schema/options.ts';
import type {ToolExecutor, WorkerCall} from '../tools/tool-executor.ts';
import {BodyCall} from './body-call.ts';
import {currentTelemetry, valuesOf, type CarriedStorage} from './carried.ts';
import type {Task} from './messages.ts';
import {Places} from './places.ts';
import {Threads} from './threads.ts';
import {WorkerError} from './worker-errors.ts';

/** The limits of a pool. A key whose value is `undefined` counts as absent. */
export interface WorkerPoolOptions {
  /** How many threads there may be. A call beyond waits for its turn. Default 8, whatever the number of cores: most bodies wait. */
  readonly maxThreads?: number | undefined;
  /** How long a thread without work stays, in milliseconds. It never holds the process. Default 5,000. */
  readonly idleMs?: number | undefined;
  /** The storages whose values, as they are when a call starts, the bodies see. The values are cloned. Default: none. */
  readonly asyncLocalStorages?: readonly CarriedStorage[] | undefined;
}

/** Beside the entry: `thread.ts` in the sources, `thread.js` when built. */
const THREAD = new URL(import.meta.url.endsWith('.ts') ? './thread.ts' : './thread.js', import.meta.url).href;

/**
 * A bounded pool of threads for tool bodies that live in modules. Threads are started when they are needed and end when they have been
 * idle; one that is terminated, because its body did not stop, is replaced.
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
  readonly #pool: Tinypool;
  readonly #threads: Threads;
  readonly #places: Places;
  /** Those under way, and what ends their threads. */
  readonly #calls = new Map<BodyCall, {readonly kill: AbortController; readonly call: WorkerCall; readonly over: Promise<void>}>();
  #closing = false;

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
    // With Atomics a thread between two tasks would stand still: what a body has left behind could neither end nor fail.
    this.#pool = new Tinypool({minThreads: 0, maxThreads, idleTimeout: Math.min(idleMs, 2_147_483_647), useAtomics: false});
    this.#pool.on('error', (error: Error) => this.#failed(error));
    this.#threads = new Threads(this.#pool, {
      max: maxThreads,
      onChange: () => this.#places.fill(),
      onLost: (threadId, code) => this.#lost(threadId, new Error(`it has ended by itself (exit code ${String(code)})`)),
    });
    this.#places = new Places((taken) => this.#threads.hasRoom(taken));
  }

  /** How many threads there are, those that are ending included. */
  get threads(): number {
    return this.#threads.count;
  }

  /** Waits for a place, for the dispatch of tools. Nothing where `life` ends before. */
  async enter(life: Lifetime): Promise<((call: WorkerCall) => Promise<unknown>) | undefined> {
    return (await this.#places.enter(life)) ? (call) => this.#run(call) : undefined;
  }

  /** Ends the threads that are idle now, and the others when they have done their work. A later call starts new ones. Idempotent. */
  async close(): Promise<void> {
    // The pool below would end a thread that is starting too, and forget the call that waits for it.
    this.#closing = [...this.#calls.keys()].some(({threadId}) => threadId === undefined);
    if (!this.#closing) await this.#pool.recycleWorkers();
    // A call that has been given up may have its thread for a moment yet.
    await Promise.all([...this.#calls.values()].flatMap(({call, over}) => (call.life.ended ? over : [])));
    await this.#threads.left();
  }

  #run(call: WorkerCall): Promise<unknown> {
    const {port1, port2} = new MessageChannel();
    const kill = new AbortController();
    const body = new BodyCall(port1, call, () => kill.abort());
    const task = taskOf(call, valuesOf(this.#storages));
    try {
      call.life.throwIfEnded();
      // Before the pool is asked: what cannot be cloned would cost it the thread.
      port1.postMessage(task);
    } catch (error) {
      body.close(call.life.ended ? error : uncloneable(task, error));
      this.#places.leave();
      return body.outcome;
    }
    const running = this.#pool.run({port: port2}, {filename: THREAD, name: 'runTask', transferList: [port2], signal: kill.signal});
    this.#threads.look();
    const over = (error: Error): void => {
      // What breaks a thread behind the back of a body that has ended is nobody's result.
      if (body.close(error) && error.cause && !kill.signal.aborted) process.emitWarning(error);
      this.#calls.delete(body);
      this.#places.leave();
      if (this.#closing) void this.close();
    };
    const ended = running.then(
      () => over(new WorkerError(task.tool, 'was stopped before its body began')),
      (cause: unknown) => over(lostThread(task.tool, cause)),
    );
    this.#calls.set(body, {kill, call, over: ended});
    return body.outcome;
  }

  /** A thread has failed that had no call yet, or none any more. */
  #failed(error: Error): void {
    if (this.#threads.lostOne) this.#lost(undefined, error);
    // Nobody waits for what a body has left behind. The pool's own complaint is of a result that came when its thread had broken already.
    else if (!error.message.startsWith('Unexpected message from Worker')) process.emitWarning(error);
  }

  /** Ends the calls of a thread that is gone; without an id, those whose thread was still starting. */
  #lost(threadId: number | undefined, error: Error): void {
    const calls = [...this.#calls].filter(([body]) => body.threadId === threadId);
    for (const [body, {kill, call}] of calls) {
      body.close(lostThread(call.tool.name, error));
      // Makes the pool forget the thread, or the call that waits for one.
      kill.abort();
    }
    // It was idle: the pool forgets it only with all that are.
    if (calls.length === 0 && threadId !== undefined) void this.close();
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

function lostThread(tool: string, cause: unknown): WorkerError {
  return new WorkerError(tool, `lost its worker thread: ${messageOf(cause)}`, {cause});
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
