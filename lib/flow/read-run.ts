import {stringifyContent, type Event} from '../events/event.ts';
import {RunIncompleteError, type RunResult} from '../runner/run-result.ts';
import type {Run} from '../runner/run.ts';

/** Reads a run to its end. */
export async function readRun<T>(run: Run): Promise<RunResult<T>> {
  const events: Event[] = [];
  for await (const event of run) if (!event.partial) events.push(event);
  const {kind, usage, errorCode} = await run.settled;
  if (kind === 'waiting') throw new RunIncompleteError('RUN_WAITING', 'The run waits for an answer to a call', events);
  if (errorCode !== undefined) {
    const message = events.findLast((event) => event.errorCode === errorCode)?.errorMessage ?? 'the reply cannot be used';
    throw new RunIncompleteError(errorCode, `The run ended with ${errorCode}: ${message}`, events);
  }
  const text = events.map(stringifyContent).findLast(Boolean) ?? '';
  return {output: events.at(-1)?.output as T, text, usage, events};
}
