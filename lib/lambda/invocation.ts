import {Timers} from '../async/timers.ts';
import {expectOption, SluiceError} from '../errors.ts';
import {checkOptions, has, isMs, optional} from '../schema/options.ts';
import type {Host} from '../serve/handler.ts';
import {readEvent, type ResultFormat} from './lambda-event.ts';

/** Answers requests on web standards: a `Handler`, or a function of your own. */
export type FetchHandler = (request: Request, host?: Host) => Promise<Response> | Response;

/** What is used of Lambda's context. */
export interface LambdaContext {
  getRemainingTimeInMillis(): number;
}

/** Options of `streamHandler` and `bufferedHandler`. */
export interface LambdaOptions {
  /**
   * How long before Lambda ends the function a run is stopped, in milliseconds: what it takes to store what there is. Default 1,500. A
   * function's own timeout is 3 seconds unless it is raised.
   */
  readonly stopBeforeMs?: number | undefined;
}

/** The function's time was nearly up. It is the reason of the request's signal; what ran was stopped, and its session is valid. */
export class LambdaDeadlineError extends SluiceError {
  readonly code = 'LAMBDA_DEADLINE';

  constructor(stopBeforeMs: number) {
    super(`The run was stopped ${stopBeforeMs} ms before the end of the function's time: raise its timeout, or shorten the run`);
  }
}

/** @throws InvalidOptionError */
export function checkLambda(owner: string, handler: FetchHandler, options: LambdaOptions): {readonly stopBeforeMs: number} {
  expectOption(typeof handler === 'function', 'handler', 'a function', handler);
  checkOptions(owner, options, {stopBeforeMs: optional(isMs)});
  return {stopBeforeMs: options.stopBeforeMs ?? 1_500};
}

const isContext = has('getRemainingTimeInMillis', "Lambda's context");

// A `Request` of Node's passes its signal on only until it is collected, and whoever listens to the signal does not keep it.
const requests = new Set<Request>();

/** One event on its way through a handler. */
export class Invocation {
  readonly #handler: FetchHandler;
  readonly #stopBeforeMs: number;
  readonly #client = new AbortController();
  readonly #kept: Promise<unknown>[] = [];

  constructor(handler: FetchHandler, stopBeforeMs: number) {
    this.#handler = handler;
    this.#stopBeforeMs = stopBeforeMs;
  }

  /** Fires when the client has left, and when the time is nearly up. */
  get signal(): AbortSignal {
    return this.#client.signal;
  }

  /** Whether it was stopped because its time was nearly up. */
  get outOfTime(): boolean {
    return this.signal.reason instanceof LambdaDeadlineError;
  }

  /** The client is gone. */
  leave(): void {
    this.#client.abort(new DOMException('The client has left', 'AbortError'));
  }

  /**
   * Answers an event, and waits for all that the handler asked its host to wait for. A function is frozen once it has answered: what goes on
   * then may never end.
   */
  async run<T>(event: unknown, context: LambdaContext, send: (response: Response, format: ResultFormat) => Promise<T>): Promise<T> {
    expectOption(isContext.accepts(context), 'context', isContext.expected, context);
    const {request, format} = readEvent(event, this.signal);
    const timers = new Timers();
    timers.hold();
    requests.add(request);
    timers.set(Math.max(0, context.getRemainingTimeInMillis() - this.#stopBeforeMs), () =>
      this.#client.abort(new LambdaDeadlineError(this.#stopBeforeMs)),
    );
    try {
      const response = await this.#handler(request, {waitUntil: (promise) => void this.#kept.push(promise)});
      return await send(response, format);
    } finally {
      // More may be added meanwhile.
      for (const promise of this.#kept) await promise.catch(() => {});
      requests.delete(request);
      timers.clear();
    }
  }
}
