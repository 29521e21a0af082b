/** A value that waits to be taken, and whose it is. */
export interface Arrival<T> {
  readonly source: number;
  readonly value: T;
}

interface Queued<T> extends Arrival<T> {
  readonly urgent: boolean;
}

/**
 * Hands the values of several sources to one reader, in the order in which they come. A source goes on only when its value was taken and
 * the reader asks again, so that none is ahead of the reader by more than one value, and a fast one holds up no other.
 *
 * The reader calls `peek`, then `take`; a source calls `put` for each value, and `end` once. Sources are numbered from 0.
 */
export class Merge<T> {
  readonly #queue: Queued<T>[] = [];
  /** Sources that are not over. */
  readonly #open: Set<number>;
  /** Lets a source go on, for each that waits in `put`. */
  readonly #parked = new Map<number, () => void>();
  /** Sources whose value was taken since the reader has last asked. */
  readonly #taken = new Set<number>();
  #wake: (() => void) | undefined;

  constructor(sources: number) {
    this.#open = new Set(Array.from({length: sources}, (_, source) => source));
  }

  /**
   * Hands a value over; resolves when the source may go on. A source that is over hands over nothing any more.
   *
   * @param urgent - goes before values that are not, and holds all sources until it was taken: after it nothing may matter any more
   */
  put(source: number, value: T, urgent = false): Promise<void> {
    if (!this.#open.has(source)) return Promise.resolve();
    const at = urgent ? this.#queue.findIndex((queued) => !queued.urgent) : -1;
    this.#queue.splice(at < 0 ? this.#queue.length : at, 0, {source, value, urgent});
    this.#tell();
    return new Promise((resolve) => this.#parked.set(source, resolve));
  }

  /** Lets a source go on whether or not its value was taken; the value stays. */
  letGo(source: number): void {
    this.#taken.delete(source);
    const goOn = this.#parked.get(source);
    this.#parked.delete(source);
    goOn?.();
  }

  /** A source is over. What it has handed over can still be taken. */
  end(source: number): void {
    this.#open.delete(source);
    this.letGo(source);
    this.#tell();
  }

  /** What waits longest, as soon as something does; `undefined` when all sources are over and everything was taken. One call at a time. */
  async peek(): Promise<Arrival<T> | undefined> {
    if (!this.#queue[0]?.urgent) for (const source of this.#taken) this.letGo(source);
    while (this.#queue.length === 0 && this.#open.size > 0) await this.#change();
    return this.#queue[0];
  }

  /** The next value of this source, waited for where there is none; `undefined` when it is over. */
  async take(source: number): Promise<T | undefined> {
    for (;;) {
      const at = this.#queue.findIndex((queued) => queued.source === source);
      const [queued] = at < 0 ? [] : this.#queue.splice(at, 1);
      if (queued) {
        this.#taken.add(source);
        return queued.value;
      }
      if (!this.#open.has(source)) return undefined;
      if (this.#taken.has(source)) this.letGo(source);
      await this.#change();
    }
  }

  /** What waits to be taken, in its order. */
  get waiting(): readonly Arrival<T>[] {
    return this.#queue;
  }

  #change(): Promise<void> {
    return new Promise((resolve) => (this.#wake = resolve));
  }

  #tell(): void {
    this.#wake?.();
    this.#wake = undefined;
  }
}
