import {receiveMessageOnPort, type MessagePort} from 'node:worker_threads';
import {Timers} from '../async/timers.ts';
import {messageOf} from '../errors.ts';
import type {WorkerCall} from '../tools/tool-executor.ts';
import type {ErrorDetails, FromThread, ToThread} from './messages.ts';

/** How long a thread may take to say that it has heard of the stop, in milliseconds. One that is blocked never does. */
const ACKNOWLEDGE_MS = 25;

/** One call of a body, as the pool sees it: what it comes to, and how it is stopped. */
export class BodyCall {
  /** The result as JSON, or a generator. Rejects with what the body threw, or once the call has ended. */
  readonly outcome: Promise<unknown>;
  readonly #port: MessagePort;
  readonly #call: WorkerCall;
  readonly #terminate: () => void;
  readonly #timers = new Timers();
  readonly #settle: {resolve: (value: unknown) => void; reject: (reason: unknown) => void};
  /** The generator's reader, who waits for the next message. */
  #reader: PromiseWithResolvers<IteratorResult<unknown, unknown>> | undefined;
  /** The outcome is known. */
  #ended: {error: unknown} | undefined;
  /** Tells the outcome: when the thread is free again, so that who comes next finds it so. */
  #tell: (() => void) | undefined;
  /** The thread has done with it. */
  #over = false;
  /** Known once the body is about to run. */
  #threadId: number | undefined;
  #acknowledged = false;

  /** @param terminate - ends the thread */
  constructor(port: MessagePort, call: WorkerCall, terminate: () => void) {
    const {promise, resolve, reject} = Promise.withResolvers<unknown>();
    this.outcome = promise;
    this.#settle = {resolve, reject};
    this.#port = port;
    this.#call = call;
    this.#terminate = terminate;
    port.on('message', this.#receive);
    call.life.onEnd(() => this.#stop());
  }

  /** The thread that runs it; `undefined` while that starts. */
  get threadId(): number | undefined {
    return this.#threadId;
  }

  /**
   * Nothing more comes: the thread has done with the call, or is gone.
   *
   * @param error - what it comes to where its thread has not said
   * @returns whether it had said
   */
  close(error: unknown): boolean {
    this.#drain();
    this.#tell?.();
    this.#end(error);
    this.#finish();
    this.#port.close();
    return this.#tell !== undefined;
  }

  readonly #receive = (message: FromThread): void => {
    switch (message.kind) {
      case 'started':
        this.#threadId = message.threadId;
        // The stop was on its way to the thread, and on the thread it has come too late.
        if (this.#ended) this.#watch();
        return;
      case 'acknowledged':
        this.#acknowledged = true;
        return;
      case 'generator':
        return this.#settle.resolve(this.#read());
      case 'yielded':
        return this.#answer({done: false, value: message.value});
      case 'returned':
        return this.#answer({done: true, value: message.value});
      case 'threw':
        this.#finish();
        this.#tell = () => this.#end(restored(message.error, message.details));
        return;
    }
  };

  #drain(): void {
    for (let next = receiveMessageOnPort(this.#port); next; next = receiveMessageOnPort(this.#port))
      this.#receive(next.message as FromThread);
  }

  #answer(result: IteratorResult<unknown, unknown>): void {
    if (!result.done) return this.#reader?.resolve(result);
    this.#finish();
    this.#tell = () => (this.#reader ? this.#reader.resolve(result) : this.#settle.resolve(result.value));
  }

  #end(error: unknown): void {
    if (this.#ended) return;
    this.#ended = {error};
    this.#reader?.reject(error);
    this.#settle.reject(error);
  }

  #finish(): void {
    this.#over = true;
    this.#timers.clear();
  }

  /** A body that is a generator, from this side: each value is asked for. */
  async *#read(): AsyncGenerator<unknown, unknown, undefined> {
    let over = false;
    try {
      for (;;) {
        const {done, value} = await this.#ask('next');
        over = done === true;
        if (done) return value;
        yield value;
      }
    } finally {
      // Its own `finally` blocks run, within the grace.
      if (!over && !this.#ended) await this.#ask('return');
    }
  }

  #ask(kind: 'next' | 'return'): Promise<IteratorResult<unknown, unknown>> {
    if (this.#ended) return Promise.reject(this.#ended.error);
    this.#reader = Promise.withResolvers();
    this.#post({kind});
    return this.#reader.promise;
  }

  #stop(): void {
    if (this.#over) return;
    const {reason} = this.#call.life;
    this.#postReason(reason);
    this.#drain();
    if (this.#threadId !== undefined) this.#watch();
    // A thread that is still starting finds the stop before the body.
    else this.#end(reason);
  }

  /** Ends the thread unless it ends the body itself. */
  #watch(): void {
    this.#timers.set(this.#call.graceMs, () => this.#kill());
    this.#timers.set(ACKNOWLEDGE_MS, () => {
      // This thread may have been the busy one: the answer is then in the port.
      this.#drain();
      if (!this.#acknowledged) this.#kill();
    });
  }

  #kill(): void {
    if (this.#over) return;
    this.#finish();
    this.#end(this.#call.life.reason);
    this.#terminate();
  }

  #postReason(reason: unknown): void {
    try {
      this.#post({kind: 'abort', reason});
    } catch {
      this.#post({kind: 'abort', reason: new Error(messageOf(reason))});
    }
  }

  #post(message: ToThread): void {
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a port has none
    this.#port.postMessage(message);
  }
}

/** An error of the other thread, with what its clone has lost. */
function restored(error: unknown, details: ErrorDetails): unknown {
  if (!(error instanceof Error)) return error;
  for (const [key, value] of Object.entries(details)) Object.defineProperty(error, key, {value, configurable: true, writable: true});
  return error;
}
