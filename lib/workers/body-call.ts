import {receiveMessageOnPort, type MessagePort} from 'node:worker_threads';
import type {Lifetime} from '../async/lifetime.ts';
import {Timers} from '../async/timers.ts';
import {messageOf} from '../errors.ts';
import type {ErrorDetails, FromCall, ToCall} from './messages.ts';
import {lostThread} from './worker-errors.ts';

/** How long a thread may take to say that it has heard of the stop, in milliseconds. One that is blocked never does. */
const ACKNOWLEDGE_MS = 25;

export interface BodyCallOptions {
  readonly tool: string;
  /** Its end stops the body. */
  readonly life: Lifetime;
  /** How long the body may still bring a value after that end, in milliseconds. */
  readonly graceMs: number;
  /** The thread has done with it. */
  readonly onOver: () => void;
  /** Ends the thread. */
  readonly terminate: () => void;
}

/** One call of a body, as the pool sees it: what it comes to, and how it is stopped. */
export class BodyCall {
  /** The result as JSON, or a generator. Rejects with what the body threw, or once the call has ended. */
  readonly outcome: Promise<unknown>;
  readonly #port: MessagePort;
  readonly #options: BodyCallOptions;
  readonly #timers = new Timers();
  readonly #settle: {resolve: (value: unknown) => void; reject: (reason: unknown) => void};
  /** The generator's reader, who waits for the next message. */
  #reader: PromiseWithResolvers<IteratorResult<unknown, unknown>> | undefined;
  /** It has failed, or was stopped. */
  #ended: {error: unknown} | undefined;
  /** The thread has done with it, or is to end. */
  #over = false;
  #acknowledged = false;

  constructor(port: MessagePort, options: BodyCallOptions) {
    const {promise, resolve, reject} = Promise.withResolvers<unknown>();
    this.outcome = promise;
    this.#settle = {resolve, reject};
    this.#port = port;
    this.#options = options;
    port.on('message', this.#receive);
    options.life.onEnd(() => this.#stop());
  }

  /** Whether its time is over: its thread has it for no longer than the grace. */
  get isStopped(): boolean {
    return this.#options.life.ended;
  }

  /** Its thread is gone; returns whether that is what the call comes to. */
  close(cause: unknown): boolean {
    this.#drain();
    if (this.#over) return false;
    this.#finish();
    this.#end(lostThread(this.#options.tool, cause));
    return true;
  }

  readonly #receive = (message: FromCall): void => {
    switch (message.kind) {
      case 'acknowledged':
        this.#acknowledged = true;
        return;
      case 'generator':
        this.#port.unref();
        return this.#settle.resolve(this.#read());
      case 'yielded':
        this.#port.unref();
        return this.#reader?.resolve({done: false, value: message.value});
      case 'returned':
        this.#handBack();
        return this.#reader ? this.#reader.resolve({done: true, value: message.value}) : this.#settle.resolve(message.value);
      case 'threw':
        this.#handBack();
        return this.#end(restored(message.error, message.details));
    }
  };

  #drain(): void {
    for (let next = receiveMessageOnPort(this.#port); next; next = receiveMessageOnPort(this.#port))
      this.#receive(next.message as FromCall);
  }

  #end(error: unknown): void {
    if (this.#ended) return;
    this.#ended = {error};
    this.#reader?.reject(error);
    this.#settle.reject(error);
  }

  /** Before the outcome is told, so that who comes next finds the thread free. */
  #handBack(): void {
    this.#finish();
    this.#options.onOver();
  }

  #finish(): void {
    this.#over = true;
    this.#timers.clear();
    this.#port.close();
  }

  /** A body that is a generator, from this side: each value is asked for. While nobody asks, it does not hold the process. */
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
    this.#port.ref();
    this.#post({kind});
    return this.#reader.promise;
  }

  /** Ends the thread unless it ends the body itself. */
  #stop(): void {
    if (this.#over) return;
    this.#port.ref();
    this.#postReason(this.#options.life.reason);
    this.#timers.set(this.#options.graceMs, () => this.#kill());
    this.#timers.set(ACKNOWLEDGE_MS, () => {
      // This thread may have been the busy one: the answer is then in the port.
      this.#drain();
      if (!this.#acknowledged) this.#kill();
    });
  }

  #kill(): void {
    this.#drain();
    if (this.#over) return;
    this.#finish();
    this.#end(this.#options.life.reason);
    this.#options.terminate();
  }

  #postReason(reason: unknown): void {
    try {
      this.#post({kind: 'abort', reason});
    } catch {
      this.#post({kind: 'abort', reason: new Error(messageOf(reason))});
    }
  }

  #post(message: ToCall): void {
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
