import {describe, messageOf} from '../errors.ts';
import type {Task} from './messages.ts';
import type {WorkerContext} from './worker-context.ts';
import {WorkerError, WorkerReentryError} from './worker-errors.ts';

type Body = (args: Readonly<Record<string, unknown>>, context: WorkerContext) => unknown;

/**
 * Loads the body of a task from its module.
 *
 * @throws {@link WorkerError} where there is no such module or no such function in it, {@link WorkerReentryError} where it starts a run
 */
export async function loadBody({tool, module, export: name}: Pick<Task, 'tool' | 'module' | 'export'>): Promise<Body> {
  const exports = await load(tool, module);
  const body = exports[name];
  if (typeof body === 'function') return body as Body;
  const others = Object.keys(exports).join(', ') || 'nothing';
  throw new WorkerError(tool, `needs a function \`${name}\` of ${module}, got ${describe(body)}; the module exports ${others}`);
}

async function load(tool: string, module: string): Promise<Record<string, unknown>> {
  try {
    return (await import(/* @vite-ignore */ module)) as Record<string, unknown>;
  } catch (cause) {
    // Not by its class: it may come from another copy of the package.
    const isReentry = (cause as {code?: unknown} | undefined)?.code === new WorkerReentryError().code;
    throw isReentry ? cause : new WorkerError(tool, `cannot load its worker module ${module}: ${messageOf(cause)}`, {cause});
  }
}
