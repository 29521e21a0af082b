/** What a run came to. */
export interface Collected<E, O> {
  /** All its Events, in order. */
  readonly events: E[];
  /** What it threw, where it threw; the key is missing where it did not. */
  readonly error?: unknown;
  /** What its `settled` says. */
  readonly outcome: O;
}

/**
 * Reads a run to its end, whichever way it ends, and never throws. To stop the run meanwhile, use its own `abortSignal`.
 *
 * @example
 * ```ts
 * import {InMemoryRunner, LlmAgent} from 'sluice';
 * import {ScriptedLlm, collect} from 'sluice/testing';
 *
 * const agent = new LlmAgent({name: 'greeter', model: new ScriptedLlm({steps: ['Hello!']})});
 * const runner = new InMemoryRunner({agent, appName: 'test'});
 * const {events, outcome} = await collect(
 *   runner.runEphemeral({userId: 'u', newMessage: {role: 'user', parts: [{text: 'Hi'}]}}),
 * );
 * console.log(events.length, outcome.kind);
 * ```
 */
export async function collect<E, O>(run: AsyncIterable<E> & {readonly settled: Promise<O>}): Promise<Collected<E, O>> {
  const events: E[] = [];
  try {
    for await (const event of run) events.push(event);
  } catch (error) {
    return {events, error, outcome: await run.settled};
  }
  return {events, outcome: await run.settled};
}
