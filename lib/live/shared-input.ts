import type {LiveRequest, LiveRequestQueue} from '../agents/live-request-queue.ts';
import type {Lifetime} from '../async/lifetime.ts';
import {expectOption} from '../errors.ts';

/** What the user sends in one run, whoever hears it: one agent at a time, and what that one has not passed on goes to the next. */
export class SharedInput {
  readonly #queue: LiveRequestQueue;
  readonly #requests: AsyncIterator<LiveRequest>;
  readonly #returned: LiveRequest[] = [];
  /** What was asked of the queue, and taken by nobody yet. */
  #pending: Promise<IteratorResult<LiveRequest>> | undefined;
  #leave: () => void = () => {};

  /**
   * @param run - with its end the queue is closed
   * @throws {@link InvalidOptionError} for what is no queue
   */
  constructor(queue: LiveRequestQueue, run: Lifetime) {
    const isQueue = typeof queue.close === 'function' && Symbol.asyncIterator in queue;
    expectOption(isQueue, 'request.liveRequestQueue', 'a LiveRequestQueue', queue);
    this.#queue = queue;
    this.#requests = queue[Symbol.asyncIterator]();
    run.onEnd(() => this.close());
  }

  /** The next request; nothing once the user has said all, or once its reader leaves. One reader at a time. */
  next(): Promise<LiveRequest | undefined> {
    const returned = this.#returned.shift();
    if (returned) return Promise.resolve(returned);
    const pending = (this.#pending ??= this.#requests.next());
    return new Promise((resolve, reject) => {
      let hasLeft = false;
      this.#leave = () => {
        hasLeft = true;
        resolve(undefined);
      };
      pending.then((result) => {
        if (hasLeft) return;
        this.#pending = undefined;
        resolve(result.done ? undefined : result.value);
      }, reject);
    });
  }

  /** The reader takes nothing more: what comes now is for the next one. */
  leave(): void {
    this.#leave();
  }

  /** Puts back what a reader has taken and not passed on, ahead of all else. */
  giveBack(requests: readonly LiveRequest[]): void {
    this.#returned.unshift(...requests);
  }

  /** Closes the queue, and drops what is left in it. */
  close(): void {
    this.#queue.close();
    this.#requests.return?.().catch(() => {});
  }
}
