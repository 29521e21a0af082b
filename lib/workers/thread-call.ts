import {receiveMessageOnPort, type MessagePort} from 'node:worker_threads';
import {isGenerator} from '../dispatch/drain.ts';
import {toErrorResponse} from '../tools/tool-result.ts';
import {toCloneable} from './cloneable-json.ts';
import {enterCarried} from './enter-carried.ts';
import {loadBody} from './load-body.ts';
import type {ErrorDetails, FromCall, Task, ToCall} from './messages.ts';
import {withinBody} from './run-guard.ts';
import {ReadonlyState, type WorkerContext} from './worker-context.ts';

/** One call of a body, as its thread sees it. */
export class ThreadCall {
  readonly #port: MessagePort;
  readonly #task: Task;
  readonly #controller = new AbortController();
  readonly #wanted: ('next' | 'return')[] = [];
  #onWanted: (() => void) | undefined;

  constructor(port: MessagePort, task: Task) {
    this.#port = port;
    this.#task = task;
  }

  /** Runs the body, and tells the pool what it came to. Never rejects. */
  async run(): Promise<void> {
    this.#port.on('message', (message: ToCall) => this.#receive(message));
    // A call that is over already does not even load its module.
    for (let next = receiveMessageOnPort(this.#port); next; next = receiveMessageOnPort(this.#port)) this.#receive(next.message as ToCall);
    try {
      this.#controller.signal.throwIfAborted();
      const body = await loadBody(this.#task);
      const enter = await enterCarried(this.#task);
      await enter(() => withinBody(async () => this.#finish(await body(this.#task.args, this.#context()))));
    } catch (error) {
      await printed();
      this.#postError(error);
    }
  }

  async #finish(result: unknown): Promise<void> {
    const value = isGenerator(result) ? await this.#drive(result) : result;
    const isNothing = value === undefined || value === null;
    const cloneable = isNothing ? undefined : toCloneable(value, this.#task.tool);
    await printed();
    this.#post({kind: 'returned', value: cloneable});
  }

  /** Runs a generator as its reader on the other thread asks for it. */
  async #drive(generator: AsyncGenerator<unknown, unknown, undefined>): Promise<unknown> {
    this.#post({kind: 'generator'});
    for (;;) {
      const wanted = this.#wanted.shift();
      if (wanted === undefined) await new Promise<void>((resolve) => (this.#onWanted = resolve));
      else {
        const {done, value} = wanted === 'next' ? await generator.next() : await generator.return(undefined);
        if (done) return value;
        this.#post({kind: 'yielded', value: toCloneable(value, this.#task.tool)});
      }
    }
  }

  #receive(message: ToCall): void {
    if (message.kind === 'abort') {
      this.#controller.abort(message.reason);
      this.#post({kind: 'acknowledged'});
      return;
    }
    this.#wanted.push(message.kind);
    this.#onWanted?.();
  }

  #context(): WorkerContext {
    const {ids, state} = this.#task;
    return {...ids, abortSignal: this.#controller.signal, state: new ReadonlyState(state)};
  }

  #postError(error: unknown): void {
    const details = detailsOf(error);
    try {
      this.#post({kind: 'threw', error, details});
    } catch {
      this.#post({kind: 'threw', error: new Error(toErrorResponse(error).error), details});
    }
  }

  #post(message: FromCall): void {
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a port has none
    this.#port.postMessage(message);
  }
}

/** What else an error says of itself that a clone would lose. */
function detailsOf(error: unknown): ErrorDetails {
  try {
    if (!(error instanceof Error)) return {};
    const {name, code} = error as {name: unknown; code?: unknown};
    return {...(typeof name === 'string' && {name}), ...((typeof code === 'string' || typeof code === 'number') && {code})};
  } catch {
    // Then it cannot be cloned either.
    return {};
  }
}

/** Waits until what the body has printed is with the other thread: the end of this one would lose it. */
async function printed(): Promise<void> {
  for (const stream of [process.stdout, process.stderr])
    if (stream.writableLength > 0) await new Promise((resolve) => stream.write('', resolve));
}
