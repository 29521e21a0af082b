import type {Lifetime} from '../../async/lifetime.ts';
import type {LlmResponse} from '../../models/llm-response.ts';
import {asModelError} from './model-call.ts';
import type {ModelHooks, ModelHooksOptions} from './model-hooks.ts';

/** The user's code around a model step. Loaded by who needs it: most agents have none. */
export async function loadModelHooks(options: ModelHooksOptions): Promise<ModelHooks | undefined> {
  const {agent, toolbox} = options;
  const callbacks = [agent.beforeModelCallback, agent.afterModelCallback, agent.onModelErrorCallback];
  if (!toolbox.shapesRequests && callbacks.every((list) => list.length === 0)) return undefined;
  return new (await import('sluice/flow')).ModelHooks(options);
}

/** A failed call: the hooks may answer, where there are any. */
export async function recover(hooks: ModelHooks | undefined, thrown: unknown, life: Lifetime): Promise<LlmResponse> {
  if (hooks) return hooks.recover(thrown, life);
  life.throwIfEnded();
  throw asModelError(thrown);
}
