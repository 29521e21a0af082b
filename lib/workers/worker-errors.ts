import {messageOf, SluiceError} from '../errors.ts';

/** The body of a tool could not run on its thread, or the thread ended before it. The model is told. */
export class WorkerError extends SluiceError {
  readonly code = 'WORKER_FAILED';
  readonly tool: string;

  constructor(tool: string, message: string, options?: ErrorOptions) {
    super(`The tool \`${tool}\` ${message}`, options);
    this.tool = tool;
  }
}

/** What a call comes to whose thread has gone from under it. */
export function lostThread(tool: string, cause: unknown): WorkerError {
  return new WorkerError(tool, `lost its worker thread: ${messageOf(cause)}`, {cause});
}

/**
 * A module that was loaded for a tool's body starts a run while it loads. As an application does so, each thread would start the
 * application anew.
 */
export class WorkerReentryError extends SluiceError {
  readonly code = 'WORKER_REENTRY';

  constructor() {
    super('A run was started on a worker thread, outside of any tool body. The module of a worker tool is to hold bodies only');
  }
}
