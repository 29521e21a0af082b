import {FunctionTool, type FunctionToolOptions} from 'sluice';
import type {WorkerContext} from 'sluice/workers';
import {Lifetime} from '../../lib/async/lifetime.ts';
import type {ToolExecutor} from '../../lib/tools/tool-executor.ts';
import type * as bodies from './bodies/bodies.ts';
import {toolContext} from '../tools/tool-context.ts';

export const module: URL = new URL('./bodies/bodies.ts', import.meta.url);

/** A tool whose body is one of `bodies/bodies.ts`, and which is named after it. */
export function workerTool(name: keyof typeof bodies, options: Partial<FunctionToolOptions> = {}): FunctionTool {
  return new FunctionTool({name, description: 'Runs on a thread.', worker: {module, export: name}, ...options});
}

export interface CallOptions {
  readonly args?: Record<string, unknown>;
  readonly life?: Lifetime;
  readonly graceMs?: number;
  readonly module?: URL | string;
}

/** One call, without a run around it. */
export async function call(executor: ToolExecutor, name: string, options: CallOptions = {}): Promise<unknown> {
  const {args = {}, life = new Lifetime(), graceMs = 250} = options;
  const place = await executor.enter(life);
  const tool = {name, worker: {module: options.module ?? module, export: name}};
  return place?.({tool, args, context: toolContext(life), life, graceMs});
}

/** A number that a body counts up, and the moment when it has reached `value`. */
export function flag(): {flag: Int32Array; reached: (value?: number) => Promise<void>} {
  const cell = new Int32Array(new SharedArrayBuffer(4));
  const reached = async (value = 1): Promise<void> => {
    for (let now = Atomics.load(cell, 0); now < value; now = Atomics.load(cell, 0)) {
      const waiting = Atomics.waitAsync(cell, 0, now, 10_000);
      if ((waiting.async ? await waiting.value : waiting.value) === 'timed-out') throw new Error(`the flag stays at ${now}`);
    }
  };
  return {flag: cell, reached};
}

export type {WorkerContext};
