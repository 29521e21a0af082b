import {State} from '../sessions/state.ts';
import type {TaskIds} from './messages.ts';

/**
 * What a body gets of its run on a worker thread. Its members can be taken apart: `({abortSignal, state}) => ...`.
 *
 * @example
 * ```ts
 * import type {WorkerContext} from 'sluice/workers';
 *
 * export async function getOrder({id}: {id: string}, {abortSignal, state}: WorkerContext): Promise<unknown> {
 *   const response = await fetch(`https://orders.example/${state.get('user:shop')}/${id}`, {signal: abortSignal});
 *   return response.json();
 * }
 * ```
 */
export interface WorkerContext extends TaskIds {
  /** Ends the work: fires at the run's stop and at the call's own deadline. A thread that is blocked then is terminated. */
  readonly abortSignal: AbortSignal;
  /** The session's state as the call sees it. Read only: a write throws. */
  readonly state: Pick<State, 'get' | 'has' | 'toRecord'>;
}

/** State that stays on the other thread: a write here would be lost. */
export class ReadonlyState extends State {
  override set(key: string): never {
    return this.#refuse(key);
  }
  override delete(key: string): never {
    return this.#refuse(key);
  }
  override update(): never {
    return this.#refuse('...');
  }

  #refuse(key: string): never {
    throw new TypeError(
      `\`state\` is read only on a worker thread; to set \`${key}\`, return the value, and set it in an afterToolCallback`,
    );
  }
}
