import type {Event} from '../events/event.ts';

/** What becomes of the Events of a run before its reader gets them. */
export interface StoredEventsOptions {
  /** Starts the loop: everything before the agent's first Event. `undefined` where the agent has nothing to do. */
  open(): Promise<AsyncGenerator<Event, void, undefined> | undefined>;
  /** Throws where the run was stopped. */
  throwIfEnded(): void;
  /** Whether an Event may still be stored: after a stop only one that completes work. */
  accepts(event: Event): boolean;
  /** Stores a whole Event, and resolves to what the reader gets. */
  store(event: Event): Promise<Event>;
}

const DONE: IteratorReturnResult<void> = {done: true, value: undefined};

/**
 * The Events of a run's agent, each whole one stored before it is passed on.
 *
 * An iterator by hand and not a generator: it stands in the way of every streamed piece, and a generator's turn costs as much as all that
 * happens to one here.
 */
export class StoredEvents implements AsyncGenerator<Event, void, undefined> {
  readonly #options: StoredEventsOptions;
  #events: AsyncGenerator<Event, void, undefined> | undefined;
  #over = false;

  constructor(options: StoredEventsOptions) {
    this.#options = options;
  }

  next(): Promise<IteratorResult<Event, void>> {
    if (this.#over) return Promise.resolve(DONE);
    return this.#events ? this.#events.next().then(this.#pass) : this.#open();
  }

  async return(): Promise<IteratorResult<Event, void>> {
    this.#over = true;
    await this.#events?.return();
    return DONE;
  }

  async throw(error: unknown): Promise<IteratorResult<Event, void>> {
    await this.return();
    throw error;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.return();
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async #open(): Promise<IteratorResult<Event, void>> {
    this.#events = await this.#options.open();
    this.#options.throwIfEnded();
    if (this.#events) return this.next();
    this.#over = true;
    return DONE;
  }

  readonly #pass = (result: IteratorResult<Event, void>): IteratorResult<Event, void> | Promise<IteratorResult<Event, void>> => {
    if (result.done || result.value?.partial) return result;
    if (!this.#options.accepts(result.value)) return DONE;
    return this.#options.store(result.value).then((value) => ({done: false, value}));
  };
}
