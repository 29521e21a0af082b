import {captureContext, type EnterContext} from '../async/async-context.ts';
import {LlmCallsLimitExceededError} from '../errors.ts';
import type {Event} from '../events/event.ts';
import type {Ending, RunOutcome} from './run-outcome.ts';
import {RunLife, type RunSetup} from './run-life.ts';

const DONE: IteratorReturnResult<void> = Object.freeze({done: true, value: undefined});

/**
 * What `runAsync` returns: an iterator object around the run's generator.
 *
 * A bare async generator cannot be stopped by its reader: its `return()` queues behind the `next()` that is pending, which only the stop
 * could end. This object ends the run first and then waits, so that `return()`, `break` and `await using` settle promptly at any moment.
 *
 * It is cold: nothing happens before the first `next()`. It is pull-driven: nothing runs ahead of the reader.
 */
export class Run implements AsyncGenerator<Event, void, undefined>, AsyncDisposable {
  /** The run's id; its Events carry it. */
  readonly invocationId: string = `e-${crypto.randomUUID()}`;
  /** How the run ended, once it has truly ended. Never rejects; stays pending for a run that nobody starts or leaves. */
  readonly settled: Promise<RunOutcome>;
  readonly #prepare: (run: Run) => RunSetup;
  readonly #enter: EnterContext = captureContext();
  readonly #settle: (outcome: RunOutcome) => void;
  /** Whose `next()` is pending, the first of them served. */
  readonly #readers: Reader[] = [];
  #life: RunLife | undefined;
  #ending: Ending | undefined;
  #closing: Promise<void> | undefined;
  #committed = false;
  #delivered = false;

  /** @internal @param prepare - checks the request; throws for one that cannot be run */
  constructor(prepare: (run: Run) => RunSetup) {
    this.#prepare = prepare;
    const {promise, resolve} = Promise.withResolvers<RunOutcome>();
    this.settled = promise;
    this.#settle = resolve;
  }

  /** The next Event. Concurrent calls queue; at a failing end the first rejects and the others are done. */
  next(): Promise<IteratorResult<Event, void>> {
    return new Promise((resolve, reject) => {
      if (this.#readers.push({resolve, reject}) === 1) this.#serve();
    });
  }

  /** Stops the run and waits until its session is closed. Resolves also while a `next()` is pending, and never rejects. */
  async return(): Promise<IteratorResult<Event, void>> {
    this.#end({kind: 'return'});
    await this.#leave();
    return DONE;
  }

  /** Stops the run for this reason, waits until its session is closed, and rejects with it; a run that is over just rejects. */
  async throw(reason: unknown): Promise<IteratorResult<Event, void>> {
    this.#end({kind: 'abort', failure: {reason}});
    await this.#leave();
    throw reason;
  }

  /** As `return()`, for `await using`. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.return();
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  /** @internal Stops a run that was started, from elsewhere; resolves once it has ended. */
  async stop(reason: unknown): Promise<void> {
    this.#end({kind: 'abort', failure: {reason}});
    await this.settled;
  }

  /** Asks the loop for what the first reader waits for. */
  #serve(): void {
    if (!this.#ending) this.#life ??= this.#start();
    this.#life?.timers.hold();
    if (this.#ending || !this.#life) void this.#tellEnd();
    else this.#enter(this.#life.pull).then(this.#onResult, this.#onError);
  }

  readonly #onResult = (result: IteratorResult<Event, void>): void => {
    // What comes after the end is not told any more; the closing has stored it.
    if (this.#ending) return;
    if (result.done) this.#end({kind: this.#life?.waits ? 'waiting' : 'done'});
    else this.#answer(({resolve}) => resolve(result));
  };

  readonly #onError = (error: unknown): void => {
    this.#end({kind: error instanceof LlmCallsLimitExceededError ? 'limit' : 'error', failure: {reason: error}});
  };

  #start(): RunLife | undefined {
    try {
      const setup = this.#prepare(this);
      if (!setup.abortSignal?.aborted) return new RunLife(setup, (ending) => this.#end(ending));
      this.#end({kind: 'abort', failure: {reason: setup.abortSignal.reason}});
    } catch (error) {
      this.#end({kind: 'error', failure: {reason: error}});
    }
    return undefined;
  }

  /** The run ends, for the first reason given. Only one that has finished by itself can still be stopped, until its reader is told. */
  #end(ending: Ending): void {
    if (this.#ending) {
      if (isFinish(this.#ending) && ending.failure && !this.#committed) this.#ending = ending;
      return;
    }
    this.#ending = ending;
    const life = this.#life;
    if (!life) this.#commit();
    else {
      // Known before anything hears of the stop: who then asks for the end must wait for it.
      const {promise, resolve} = Promise.withResolvers<void>();
      this.#closing = promise;
      void this.#enter(() => this.#close(life, ending)).then(resolve);
      // The pull that is pending may never settle, where the loop is left behind.
      if (this.#readers.length > 0) void this.#tellEnd();
    }
  }

  async #close(life: RunLife, ending: Ending): Promise<void> {
    life.timers.hold();
    await life.close(ending);
    life.timers.release();
    // A run that finished by itself can be stopped until its reader is told.
    if (!isFinish(ending)) this.#commit();
  }

  /** The last moment of the run: nothing can change how it ended any more. */
  #commit(): void {
    if (this.#committed) return;
    this.#committed = true;
    this.#life?.end();
    const {kind, failure} = this.#ending ?? {kind: 'return'};
    const {errorCode, ...told} = this.#life?.told() ?? {usage: undefined, llmCalls: 0, abandoned: [], lastEventId: undefined};
    const hasErrorCode = kind === 'done' && errorCode !== undefined;
    this.#settle({kind, ...(failure && {reason: failure.reason}), ...(hasErrorCode && {errorCode}), ...told});
  }

  /** Waits for the end without being told of it: that is for a reader whose `next()` is pending. */
  async #leave(): Promise<void> {
    await this.#closing;
    if (this.#readers.length === 0) this.#delivered = true;
  }

  /** Tells the first reader how the run ended, once it has. */
  async #tellEnd(): Promise<void> {
    await this.#closing;
    this.#commit();
    const failure = this.#delivered ? undefined : this.#ending?.failure;
    this.#delivered = true;
    this.#answer(({resolve, reject}) => (failure ? reject(failure.reason) : resolve(DONE)));
  }

  #answer(tell: (reader: Reader) => void): void {
    this.#life?.timers.release();
    const reader = this.#readers.shift();
    if (reader) tell(reader);
    if (this.#readers.length > 0) this.#serve();
  }
}

interface Reader {
  readonly resolve: (result: IteratorResult<Event, void>) => void;
  readonly reject: (reason: unknown) => void;
}

function isFinish({kind}: Ending): boolean {
  return kind === 'done' || kind === 'waiting';
}
