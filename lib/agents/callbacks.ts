import type {ContextOptions, ContextSource} from '../context/context-options.ts';
import {Context} from '../context/context.ts';
import {HookError} from '../errors.ts';
import {createEventActions, type EventActions} from '../events/event-actions.ts';
import {isFunction, type Check} from '../schema/options.ts';
import type {RunScope} from './run-scope.ts';

/** One callback or several: the first that returns a value ends the search. */
export type Callbacks<F> = F | readonly F[];

/** Where a callback is called from. */
export interface CallbackSite {
  readonly run: RunScope;
  readonly agentName: string;
}

/** A function or a list of functions, or nothing. */
export const isCallbacks: Check = {
  expected: 'a function or a list of functions',
  accepts: (value) => callbackList(value).every((callback) => isFunction.accepts(callback)),
};

/** The callbacks as a list. */
export function callbackList<F>(callbacks: Callbacks<F> | undefined): readonly F[] {
  return [callbacks ?? []].flat() as readonly F[];
}

/**
 * Calls the callbacks in order until one returns a value.
 *
 * @throws {@link HookError} around what a callback throws
 */
export async function firstResult<F, R>(
  hook: string,
  site: CallbackSite,
  callbacks: readonly F[],
  call: (callback: F) => R | undefined | void | Promise<R | undefined | void>,
  context?: Context,
): Promise<R | undefined> {
  if (callbacks.length === 0) return undefined;
  let owner = site.agentName;
  const leave = site.run.open.enter({
    get name() {
      return `${hook} of ${owner}`;
    },
    revoke: context && (() => context.revoke()),
  });
  try {
    for (const callback of callbacks) {
      owner = (callback as {plugin?: string}).plugin ?? site.agentName;
      // After a stop only those are called that complete what was done.
      if (site.run.life.ended && !hook.startsWith('after')) return undefined;
      const result = await call(callback);
      // In ADK's programs `null` says as much as nothing.
      if (result !== undefined && result !== null) return result;
    }
    return undefined;
  } catch (error) {
    throw error instanceof HookError ? error : new HookError(hook, owner, error);
  } finally {
    leave();
  }
}

/** A context for callbacks outside of a tool, and the actions that it writes to. */
export function callbackContext(
  source: ContextSource,
  options: Omit<ContextOptions, 'source' | 'actions'>,
): {context: Context; actions: EventActions} {
  const actions = createEventActions();
  return {context: new Context({...options, source, actions}), actions};
}
