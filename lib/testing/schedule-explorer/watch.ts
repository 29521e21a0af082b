import {AsyncLocalStorage} from 'node:async_hooks';
import type {Context} from '../../context/context.ts';
import type {Event} from '../../events/event.ts';
import type {LlmRequest} from '../../models/llm-request.ts';

/** A point in a schedule. */
export interface Instant {
  /** Counts everything that was seen, from 1. */
  readonly order: number;
  /** Virtual time. */
  readonly ms: number;
  /** Which turn of the event loop. */
  readonly turn: number;
  /** Promise jobs so far. */
  readonly job: number;
}

export type CallKind = 'model' | 'tool' | 'hook' | 'agent' | 'store';

export type CallOutcome = {readonly value: unknown} | {readonly error: unknown} | {readonly left: true};

/** A call from a run into the user's code. */
export interface WatchedCall {
  readonly kind: CallKind;
  readonly name: string;
  /** Whose async context it was made in. */
  readonly caller: string | undefined;
  readonly started: Instant;
  readonly signal?: AbortSignal | undefined;
  /** Of a tool. */
  readonly functionCallId?: string | undefined;
  /** How long a tool may take. */
  readonly timeoutMs?: number | undefined;
  /** What a tool or a hook was given of the run. */
  readonly context?: Context | undefined;
  /** Of a model. */
  readonly request?: LlmRequest | undefined;
  /** What a generator has given. */
  readonly yielded: {readonly value: unknown; readonly at: Instant}[];
  /** The Event that a store was given. */
  readonly event?: Event | undefined;
  aborted?: Instant;
  ended?: Instant;
  outcome?: CallOutcome;
}

type CallFacts = Pick<WatchedCall, 'kind' | 'name'> &
  Partial<Pick<WatchedCall, 'signal' | 'functionCallId' | 'timeoutMs' | 'context' | 'request' | 'event'>>;

interface Place {
  readonly caller: string;
  readonly foreign: boolean;
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
    return places.run({caller, foreign: false}, body);
  }

  /** Runs code that is not the run's own. */
  foreign<T>(body: () => T): T {
    return places.run({caller: places.getStore()?.caller ?? 'nobody', foreign: true}, body);
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
      const value = await this.foreign(body);
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
    try {
      for (;;) {
        const next = await this.foreign(() => source.next());
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
        await this.foreign(() => source.return(undefined as never));
        this.#end(call, {left: true});
      }
    }
  }

  #begin(facts: CallFacts): WatchedCall {
    const call: WatchedCall = {...facts, caller: places.getStore()?.caller, started: this.instant(), yielded: []};
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
