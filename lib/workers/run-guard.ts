import {AsyncLocalStorage} from 'node:async_hooks';
import {WorkerReentryError} from './worker-errors.ts';

const bodies = new AsyncLocalStorage<true>();

/** Keeps the thread from starting runs by itself. */
export function guardThread(): void {
  // Asked by every run before it starts, under this name since the run may come from another copy of the package.
  (globalThis as Record<symbol, unknown>)[Symbol.for('sluice.beforeRun')] = () => {
    if (!bodies.getStore()) throw new WorkerReentryError();
  };
}

/** Runs a body. Within it, unlike while its module loads, runs may be started. */
export function withinBody<T>(body: () => T): T {
  return bodies.run(true, body);
}
