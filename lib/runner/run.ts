import {captureContext, type EnterContext} from '../async/async-context.ts';
import {LlmCallsLimitExceededError} from '../errors.ts';
import type {Event} from '../events/event.ts';
import type {Ending, RunOutcome} from './run-outcome.ts';
import {RunLife, type RunPlan} from './run-life.ts';

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
  readonly invocationId: string;
  /**
   * How the run ended, once it has truly ended. Never rejects; stays pending for a run that nobody starts or leaves.
   */
  readonly settled: Promise<RunOutcome>;
  readonly #plan: RunPlan;
  readonly #enter: EnterContext = captureContext();
  readonly #settle: (outcome: RunOutcome) => void;
  #life: RunLife | undefined;
  #ending: Ending | undefined;
  #closing: Promise<void> | undefined;
  #committed = false;
  #delivered = false;
  #waiting = 0;
  #last: Promise<unknown> = Promise.resolve();

  /** @internal */
  constructor(plan: RunPlan) {
    this.#plan = plan;
    this.invocationId = plan.invocationId;
    const {promise, resolve} = Promise.withResolvers<RunOutcome>();
    this.settled = promise;
    this.#settle = resolve;
  }

  /** The next Event. Concurrent calls queue; at a failing end the first rejects and the others are done. */
  next(): Promise<IteratorResult<Event, void>> {
    const pull = (): Promise<IteratorResult<Event, void>> => this.#pull();
    const result = this.#waiting++ === 0 ? pull() : this.#last.then(pull, pull);
    this.#last = result;
    return result;
  }

  /** Stops the run and waits until its session is closed. Resolves also while a `next()` is pending, and never rejects. */
  async return(): Promise<IteratorResult<Event, void>> {
    this.#end({kind: 'return'});
    await this.#closing;
    this.#delivered = true;
    return DONE;
  }

  /** Stops the run for this reason, waits until its session is closed, and rejects with it; a run that is over just rejects. */
  async throw(reason: unknown): Promise<IteratorResult<Event, void>> {
    this.#end({kind: 'abort', failure: {reason}});
    await this.#closing;
    this.#delivered = true;
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

  async #pull(): Promise<IteratorResult<Event, void>> {
    try {
      if (this.#delivered) return DONE;
      if (!this.#ending) this.#life ??= this.#start();
      this.#life?.timers.hold();
      try {
        if (this.#life && !this.#ending) {
          const result = await this.#step(this.#life);
          if (result && !this.#ending) return result;
        }
        await this.#closing;
      } finally {
        this.#life?.timers.release();
      }
      this.#commit();
      return this.#deliver();
    } finally {
      this.#waiting--;
    }
  }

  #start(): RunLife | undefined {
    try {
      const setup = this.#plan.prepare();
      if (!setup.abortSignal?.aborted) return new RunLife(setup, (ending) => this.#end(ending));
      this.#end({kind: 'abort', failure: {reason: setup.abortSignal.reason}});
    } catch (error) {
      this.#end({kind: 'error', failure: {reason: error}});
    }
    return undefined;
  }

  /** One pull of the generator: an Event, or nothing where the run ended by it. */
  async #step(life: RunLife): Promise<IteratorResult<Event, void> | undefined> {
    try {
      const result = await this.#enter(() => life.pull());
      if (!result.done) return result;
      this.#end({kind: life.waits ? 'waiting' : 'done'});
    } catch (error) {
      this.#end(endingOf(error));
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
    if (life) this.#closing = this.#enter(() => this.#close(life, ending));
    else this.#commit();
  }

  async #close(life: RunLife, ending: Ending): Promise<void> {
    life.timers.hold();
    await life.close(ending);
    life.timers.release();
    // A run that finished by itself can be stopped until `next()` tells so, by the pull that ended it.
    if (!isFinish(ending)) this.#commit();
  }

  /** The last moment of the run: nothing can change how it ended any more. */
  #commit(): void {
    if (this.#committed) return;
    this.#committed = true;
    this.#life?.end();
    const {kind, failure} = this.#ending ?? {kind: 'return'};
    const told = this.#life?.told() ?? {usage: undefined, llmCalls: 0, abandoned: [], lastEventId: undefined};
    const {errorCode, ...rest} = told;
    const isDone = kind === 'done';
    this.#settle({kind, ...(failure && {reason: failure.reason}), ...(isDone && errorCode !== undefined && {errorCode}), ...rest});
  }

  #deliver(): IteratorResult<Event, void> {
    if (this.#delivered) return DONE;
    this.#delivered = true;
    if (this.#ending?.failure) throw this.#ending.failure.reason;
    return DONE;
  }
}

function isFinish({kind}: Ending): boolean {
  return kind === 'done' || kind === 'waiting';
}

function endingOf(error: unknown): Ending {
  return {kind: error instanceof LlmCallsLimitExceededError ? 'limit' : 'error', failure: {reason: error}};
}
