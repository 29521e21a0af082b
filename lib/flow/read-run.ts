import type {BaseAgent} from '../agents/base-agent.ts';
import {LlmAgent} from '../agents/llm/llm-agent.ts';
import {stringifyContent, type Event} from '../events/event.ts';
import {RunIncompleteError, type RunResult} from '../runner/run-result.ts';
import type {Run} from '../runner/run.ts';

/**
 * Reads a run of an agent to its end.
 *
 * @throws {@link RunIncompleteError}
 */
export async function readRun<T>(run: Run, agent: BaseAgent): Promise<RunResult<T>> {
  const events: Event[] = [];
  for await (const event of run) if (!event.partial) events.push(event);
  const {kind, usage, errorCode} = await run.settled;
  if (kind === 'waiting') throw new RunIncompleteError('RUN_WAITING', 'The run waits for an answer to a call', events);
  if (errorCode !== undefined) {
    const message = events.findLast((event) => event.errorCode === errorCode)?.errorMessage ?? 'the reply cannot be used';
    throw new RunIncompleteError(errorCode, `The run ended with ${errorCode}: ${message}`, events);
  }
  const text = events.map(stringifyContent).findLast(Boolean) ?? '';
  const hasForm = agent instanceof LlmAgent && agent.outputSchema !== undefined;
  // What comes behind the output, such as the words of a callback, does not take it away; and an output of another agent is of another form.
  const last = hasForm ? events.findLast(({author, output}) => author === agent.name && output !== undefined) : events.at(-1);
  if (hasForm && !last) throw new RunIncompleteError('NO_OUTPUT', `The run ended without an output of \`${agent.name}\``, events);
  return {output: last?.output as RunResult<T>['output'], text, usage, events};
}
