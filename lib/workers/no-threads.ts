/**
 * What `sluice/workers` is where there are no worker threads: browsers, Cloudflare Workers and other edge runtimes. Their bundlers take it by
 * the conditions of the exports map. Agents can be built there; a call that needs a thread is refused, and says why.
 *
 * @module
 */
import type {ToolExecutor, WorkerCall} from '../tools/tool-executor.ts';
import {WorkerError} from './worker-errors.ts';

export {WorkerError, WorkerReentryError} from './worker-errors.ts';

/** Takes every call, and refuses it by its tool's name. */
export class WorkerPool implements ToolExecutor {
  readonly threads = 0;

  async enter(): Promise<(call: WorkerCall) => Promise<never>> {
    return async ({tool}) => {
      throw new WorkerError(
        tool.name,
        'has its body on a worker thread, and this runtime has none. Give it an `execute`, and run it in another mode than PARALLEL_SUBSCRIBE',
      );
    };
  }

  async close(): Promise<void> {}
}

export const sharedWorkerPool: WorkerPool = new WorkerPool();
