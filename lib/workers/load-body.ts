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
  const exports = await loadModule(module, {tool, what: 'its worker module'});
  const body = exports[name];
  if (typeof body === 'function' && !isClass(body)) return body as Body;
  const others = Object.keys(exports).join(', ') || 'nothing';
  const got = typeof body === 'function' ? `the class ${body.name}` : describe(body);
  throw new WorkerError(tool, `needs a function \`${name}\` of ${module}, got ${got}; the module exports ${others}`);
}

/** What the other thread has said of a module. */
export interface ModuleUse {
  readonly tool: string;
  /** What it holds, for the error. */
  readonly what: string;
}

/** @throws {@link WorkerError} where it cannot be loaded, {@link WorkerReentryError} where it starts a run */
export async function loadModule(module: string, {tool, what}: ModuleUse): Promise<Record<string, unknown>> {
  try {
    return (await import(/* @vite-ignore */ module)) as Record<string, unknown>;
  } catch (cause) {
    // Not by its class: it may come from another copy of the package.
    const isReentry = (cause as {code?: unknown} | undefined)?.code === new WorkerReentryError().code;
    throw isReentry ? cause : new WorkerError(tool, `cannot load ${what} ${module}: ${messageOf(cause)}`, {cause});
  }
}

/** A class cannot be called without `new`, which no body is called with. */
function isClass(value: unknown): boolean {
  return /^class\b/.test(Function.prototype.toString.call(value));
}
