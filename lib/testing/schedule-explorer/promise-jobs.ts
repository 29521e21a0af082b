import process from 'node:process';
import {setImmediate} from 'node:timers';
import {promiseHooks} from 'node:v8';

/**
 * Counts the promise jobs of this process, one by one, and calls back between two of them: what V8 runs from its microtask queue is seen
 * at a finer grain than by any promise chain of a test's own, whose place among the others is fixed.
 */
export class PromiseJobs implements Disposable {
  readonly #unhook: () => void;
  #counting = false;
  #count = 0;
  /** Called after each job that is counted. */
  onJob: () => void = () => {};

  constructor() {
    this.#unhook = promiseHooks.onAfter(() => {
      if (!this.#counting) return;
      this.#count++;
      this.onJob();
    }) as () => void;
  }

  /** Jobs that were counted so far: those of all turns. */
  get count(): number {
    return this.#count;
  }

  /**
   * Runs `action` in a turn of the event loop of its own, and resolves when there is nothing left to do for the microtask queue. Only the
   * jobs of that turn are counted.
   */
  turn(action: () => void): Promise<void> {
    return new Promise((resolve, reject) => {
      setImmediate(() => {
        let seen = this.#count;
        const drained = (): void => {
          // What was queued with `process.nextTick` meanwhile comes after this callback, and may bring jobs of its own.
          if (seen !== this.#count) {
            seen = this.#count;
            process.nextTick(drained);
            return;
          }
          this.#counting = false;
          // A turn later Node has told of the rejections that nobody handled.
          setImmediate(resolve);
        };
        // The queue of ticks comes before the microtasks, but for what a microtask puts there.
        queueMicrotask(() => process.nextTick(drained));
        this.#counting = true;
        try {
          action();
        } catch (error) {
          reject(error);
        }
      });
    });
  }

  [Symbol.dispose](): void {
    this.#unhook();
  }
}
