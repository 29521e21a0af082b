import type {BaseAgent} from '../agents/base-agent.ts';
import type {Diagnostic} from '../agents/diagnostic.ts';
import {LlmAgent} from '../agents/llm/llm-agent.ts';
import {Timers} from '../async/timers.ts';
import {within, type Bound} from '../async/within.ts';
import {messageOf, RunnerClosedError} from '../errors.ts';
import {BaseToolset} from '../tools/base-toolset.ts';
import type {Run} from './run.ts';

/** What a runner closes. */
export interface CloseRunnerOptions {
  /** The runs under way. */
  readonly runs: ReadonlyMap<Run, unknown>;
  readonly agent: BaseAgent;
  readonly diagnose: (diagnostic: Diagnostic) => void;
  /** How long the runs may go on, in milliseconds. */
  readonly timeoutMs: number;
  /** How long the toolsets may take, in milliseconds. */
  readonly closeTimeoutMs: number;
}

/** Waits for runs, stops those that are left, and closes the toolsets. */
export async function closeRunner({runs, agent, diagnose, timeoutMs, closeTimeoutMs}: CloseRunnerOptions): Promise<void> {
  const timers = new Timers();
  timers.hold();
  const running = Promise.all([...runs.keys()].map((run) => run.settled));
  if (!(await within(running, (callback) => timers.set(timeoutMs, callback)))) {
    const reason = new RunnerClosedError('The runner was closed before the run ended');
    await Promise.all([...runs.keys()].map((run) => run.stop(reason)));
  }
  await closeToolsets(agent, diagnose, (callback) => timers.set(closeTimeoutMs, callback));
  timers.clear();
}

/** Closes every toolset of an agent tree, each once. One that fails, or is not done by the bound, is a diagnostic. */
async function closeToolsets(root: BaseAgent, diagnose: (diagnostic: Diagnostic) => void, bound: Bound): Promise<void> {
  const toolsets = new Set(toolsetsOf(root));
  await Promise.all(
    [...toolsets].map(async (toolset) => {
      const {name} = toolset.constructor;
      const closing = (async () => toolset.close())().catch((cause: unknown) => {
        diagnose({code: 'CLOSE_FAILED', name, cause, message: `The toolset ${name} failed to close: ${messageOf(cause)}`});
      });
      if (await within(closing, bound)) return;
      diagnose({code: 'WORK_ABANDONED', name, message: `The toolset ${name} did not close in time and was left behind`});
    }),
  );
}

function toolsetsOf(agent: BaseAgent): BaseToolset[] {
  const own = agent instanceof LlmAgent ? agent.tools.filter((tool) => tool instanceof BaseToolset) : [];
  return [...own, ...agent.subAgents.flatMap(toolsetsOf)];
}
