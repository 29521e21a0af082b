import type {Lifetime} from '../async/lifetime.ts';
import type {Context} from '../context/context.ts';

/** Where the body of a tool lives, so that a thread can load it: a closure cannot leave its own. */
export interface ToolWorker {
  /** A file of bodies only, as `new URL('./orders.js', import.meta.url)` or such a URL's `href`. */
  readonly module: URL | string;
  /** The name under which the module exports the body. */
  readonly export: string;
}

/** One call of a body that runs elsewhere. */
export interface WorkerCall {
  readonly tool: {readonly name: string; readonly worker?: ToolWorker | undefined};
  readonly args: Readonly<Record<string, unknown>>;
  readonly context: Context;
  /** The call's own: its end stops the body. */
  readonly life: Lifetime;
  /** How long the body may still bring a value after that end, in milliseconds. */
  readonly graceMs: number;
}

/** Runs the bodies of tools that say where they live: `WorkerPool` of `sluice/workers`. */
export interface ToolExecutor {
  /**
   * Waits for a free place. The place, called at once, runs the call: it resolves to what the tool gave, which is yet to be written as
   * JSON, or to a generator, and rejects with what the body threw, or soon after the call's end.
   *
   * @returns nothing where `life` ends before
   */
  enter(life: Lifetime): Promise<((call: WorkerCall) => Promise<unknown>) | undefined>;
  /** Lets go of what is idle now, and of the rest when it becomes so. */
  close(): Promise<void>;
}
