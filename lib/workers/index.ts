/**
 * Worker threads for tools whose body lives in a module (the option `worker` of `FunctionTool`). An entry of its own, loaded by the first such call.
 *
 * @module
 */
export type {CarriedStorage} from './carried.ts';
export type {WorkerContext} from './worker-context.ts';
export {WorkerError, WorkerReentryError} from './worker-errors.ts';
export {sharedWorkerPool, WorkerPool, type WorkerPoolOptions} from './worker-pool.ts';
