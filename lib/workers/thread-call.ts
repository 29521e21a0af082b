import {receiveMessageOnPort, threadId, type MessagePort} from 'node:worker_threads';
import {isGenerator} from '../dispatch/drain.ts';
import {messageOf} from '../errors.ts';
import {toErrorResponse, toFunctionResponse} from '../tools/tool-result.ts';
import {CloneableJson} from './cloneable-json.ts';
import {enterCarried} from './enter-carried.ts';
import {loadBody} from './load-body.ts';
import type {ErrorDetails, FromThread, Task, ToThread} from './messages.ts';
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
    this.#port.on('message', (message: ToThread) => this.#receive(message));
    // What came while the thread was starting: a call that is over does not even load its module.
    for (let next = receiveMessageOnPort(this.#port); next; next = receiveMessageOnPort(this.#port))
      this.#receive(next.message as ToThread);
    if (this.#controller.signal.aborted) return;
    this.#post({kind: 'started', threadId});
    try {
      const body = await loadBody(this.#task);
      const enter = await enterCarried(this.#task);
      await enter(() => withinBody(async () => this.#finish(await body(this.#task.args, this.#context()))));
    } catch (error) {
      this.#postError(error);
    }
  }

  async #finish(result: unknown): Promise<void> {
    const value = isGenerator(result) ? await this.#drive(result) : result;
    const isNothing = value === undefined || value === null;
    this.#post({kind: 'returned', value: isNothing ? undefined : this.#json(value)});
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
        this.#post({kind: 'yielded', value: this.#json(value)});
      }
    }
  }

  #json(value: unknown): Record<string, unknown> {
    return toFunctionResponse(value, new CloneableJson(this.#task.tool)).response;
  }

  #receive(message: ToThread): void {
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
      const text = error instanceof Error ? messageOf(error) : toErrorResponse(error).error;
      this.#post({kind: 'threw', error: new Error(text), details});
    }
  }

  #post(message: FromThread): void {
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a port has none
    this.#port.postMessage(message);
  }
}

/** What else an error says of itself that a clone would lose. */
function detailsOf(error: unknown): ErrorDetails {
  if (!(error instanceof Error)) return {};
  const {name, code} = error as {name: unknown; code?: unknown};
  return {...(typeof name === 'string' && {name}), ...((typeof code === 'string' || typeof code === 'number') && {code})};
}
