import {AsyncLocalStorage} from 'node:async_hooks';
import type {CallOutcome, Instant, WatchedCall} from './watched-call.ts';

type CallFacts = Pick<WatchedCall, 'kind' | 'name'> &
  Partial<
    Pick<
      WatchedCall,
      'signal' | 'functionCallId' | 'timeoutMs' | 'needsConfirmation' | 'actions' | 'context' | 'request' | 'event' | 'before'
    >
  >;

interface Place {
  readonly caller: string;
  readonly foreign: boolean;
  readonly inTool: boolean;
}

// One for all: Node keeps an entry in the context of whoever has used one, for each.
const places = new AsyncLocalStorage<Place>();

/** Sees what a run calls, and when; every call is a landmark. */
export class Watch {
  readonly calls: WatchedCall[] = [];
  readonly landmarks: string[] = [];
  turn = 0;
  /** Called at each landmark. */
  onLandmark: (name: string) => void = () => {};
  readonly #now: () => {readonly ms: number; readonly job: number};
  readonly #seen = new Map<string, number>();
  #order = 0;

  constructor(now: () => {readonly ms: number; readonly job: number}) {
    this.#now = now;
  }

  /** Whether user code is on the stack, or led here. */
  get inForeign(): boolean {
    return places.getStore()?.foreign ?? false;
  }

  /** Runs `body` in an async context that bears this name. */
  as<T>(caller: string, body: () => T): T {
    return places.run({caller, foreign: false, inTool: false}, body);
  }

  /** Runs code that is not the run's own; by default that of a tool if it is called in one. */
  foreign<T>(body: () => T, inTool: boolean = places.getStore()?.inTool ?? false): T {
    return places.run({caller: places.getStore()?.caller ?? 'nobody', foreign: true, inTool}, body);
  }

  instant(): Instant {
    return {order: ++this.#order, turn: this.turn, ...this.#now()};
  }

  landmark(name: string): void {
    this.landmarks.push(name);
    this.onLandmark(name);
  }

  /** A landmark with the number of times that it was reached. */
  numbered(name: string): void {
    const count = (this.#seen.get(name) ?? 0) + 1;
    this.#seen.set(name, count);
    this.landmark(`${name} #${count}`);
  }

  /** Watches a call that resolves. */
  async call<T>(facts: CallFacts, body: () => T | PromiseLike<T>): Promise<T> {
    const call = this.#begin(facts);
    try {
      const value = await this.foreign(body);
      this.#end(call, {value});
      return value;
    } catch (error) {
      this.#end(call, {error});
      throw error;
    }
  }

  /** Watches the body of a tool, to its end also where it is a generator. */
  async tool(facts: CallFacts, body: () => unknown): Promise<unknown> {
    const call = this.#begin(facts);
    try {
      const value = await this.foreign(body, true);
      if (isGenerator(value)) return this.#pull(call, value);
      this.#end(call, {value});
      return value;
    } catch (error) {
      this.#end(call, {error});
      throw error;
    }
  }

  /** Watches a generator function of an agent: nothing of it runs before the first pull. */
  async *agent<Y, R>(facts: CallFacts, start: () => AsyncGenerator<Y, R, undefined>): AsyncGenerator<Y, R, undefined> {
    return yield* this.generator(facts, start);
  }

  /** Watches a generator to its end. `start` is called at once. */
  generator<Y, R>(facts: CallFacts, start: () => AsyncGenerator<Y, R, undefined>): AsyncGenerator<Y, R, undefined> {
    const call = this.#begin(facts);
    try {
      return this.#pull(call, this.foreign(start));
    } catch (error) {
      this.#end(call, {error});
      throw error;
    }
  }

  async *#pull<Y, R>(call: WatchedCall, source: AsyncGenerator<Y, R, undefined>): AsyncGenerator<Y, R, undefined> {
    const inTool = call.inTool || call.kind === 'tool';
    try {
      for (;;) {
        const next = await this.foreign(() => source.next(), inTool);
        if (next.done) {
          this.#end(call, {value: next.value});
          return next.value;
        }
        call.yielded.push({value: next.value, at: this.instant()});
        this.numbered(`${call.kind} ${call.name} yields`);
        yield next.value;
      }
    } catch (error) {
      this.#end(call, {error});
      throw error;
    } finally {
      if (!call.ended) {
        await this.foreign(() => source.return(undefined as never), inTool);
        this.#end(call, {left: true});
      }
    }
  }

  #begin(facts: CallFacts): WatchedCall {
    const {caller, inTool = false} = places.getStore() ?? {};
    const call: WatchedCall = {...facts, caller, inTool, started: this.instant(), yielded: []};
    const {signal} = call;
    if (signal?.aborted) call.aborted = this.instant();
    else signal?.addEventListener('abort', () => (call.aborted = this.instant()), {once: true});
    this.calls.push(call);
    this.numbered(`${call.kind} ${call.name} starts`);
    return call;
  }

  #end(call: WatchedCall, outcome: CallOutcome): void {
    call.outcome = outcome;
    call.ended = this.instant();
    this.numbered(`${call.kind} ${call.name} ends`);
  }
}

function isGenerator(value: unknown): value is AsyncGenerator<unknown, unknown, undefined> {
  return typeof value === 'object' && value !== null && Symbol.asyncIterator in value && 'next' in value && 'return' in value;
}
