import type {Tinypool} from 'tinypool';

type Thread = Tinypool['threads'][number];

export interface ThreadsOptions {
  /** How many there may be. */
  readonly max: number;
  /** Told when there may be room that was not there before. */
  readonly onChange: () => void;
  /** Told of a thread that has ended by itself, which the pool does not notice. */
  readonly onLost: (threadId: number, exitCode: unknown) => void;
}

/**
 * The threads of a pool that really are there. The pool forgets one when it tells it to end, and would start another beside it; one that
 * waits in a system call ends only after that.
 */
export class Threads {
  readonly #pool: Tinypool;
  readonly #max: number;
  readonly #onChange: () => void;
  readonly #onLost: (threadId: number, exitCode: unknown) => void;
  /** Those that have not ended, and whether they have been ready. */
  readonly #alive = new Map<Thread, {ready: boolean; readonly ended: Promise<void>}>();

  constructor(pool: Tinypool, {max, onChange, onLost}: ThreadsOptions) {
    this.#pool = pool;
    this.#max = max;
    this.#onChange = onChange;
    this.#onLost = onLost;
  }

  get count(): number {
    return this.#alive.size;
  }

  /** Takes note of new threads: to be called whenever the pool may have started one. */
  look(): void {
    for (const thread of this.#pool.threads) {
      if (this.#alive.has(thread)) continue;
      const {promise: ended, resolve} = Promise.withResolvers<void>();
      const state = {ready: false, ended};
      this.#alive.set(thread, state);
      // The pool's own first word from a thread is that it is ready.
      thread.once('message', () => {
        state.ready = true;
        this.#onChange();
      });
      thread.once('exit', (exitCode) => {
        this.#alive.delete(thread);
        resolve();
        if (this.#pool.threads.includes(thread)) this.#onLost(thread.threadId, exitCode);
        this.#onChange();
      });
    }
  }

  /** Whether one more than `taken` calls may run without a thread beyond the bound. */
  hasRoom(taken: number): boolean {
    if (taken >= this.#max) return false;
    const current = this.#pool.threads;
    if (current.length === this.#alive.size || this.#alive.size < this.#max) return true;
    return current.filter((thread) => this.#alive.get(thread)?.ready).length > taken;
  }

  /** Resolves once those have ended that have been told to. */
  async left(): Promise<void> {
    const current = new Set(this.#pool.threads);
    await Promise.all([...this.#alive].flatMap(([thread, {ended}]) => (current.has(thread) ? [] : ended)));
  }

  /** Whether a thread is gone that had not become ready. */
  get lostOne(): boolean {
    const current = new Set(this.#pool.threads);
    return [...this.#alive].some(([thread, {ready}]) => !ready && !current.has(thread));
  }
}
