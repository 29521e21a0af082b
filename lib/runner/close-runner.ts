import {AgentTool} from '../agents/agent-tool.ts';
import type {BaseAgent} from '../agents/base-agent.ts';
import {LlmAgent} from '../agents/llm/llm-agent.ts';
import {resolveRunConfig} from '../agents/run-config.ts';
import {Timers} from '../async/timers.ts';
import {within, type Bound} from '../async/within.ts';
import {RunnerClosedError} from '../errors.ts';
import {BaseToolset} from '../tools/base-toolset.ts';
import type {ToolExecutor} from '../tools/tool-executor.ts';
import {finish} from './finish.ts';
import type {RunHost} from './run-setup.ts';

/**
 * Waits for runs, stops those that are left, and closes the toolsets, the executors and the plugins.
 *
 * @param timeoutMs - how long the runs may go on, in milliseconds
 */
export async function closeRunner({runs, agent, plugins, diagnose, runConfig}: RunHost, timeoutMs: number): Promise<void> {
  const {closeTimeoutMs} = resolveRunConfig([runConfig], () => {});
  const timers = new Timers();
  timers.hold();
  const running = Promise.all([...runs.keys()].map((run) => run.settled));
  if (!(await within(running, (callback) => timers.set(timeoutMs, callback)))) {
    const reason = new RunnerClosedError('The runner was closed before the run ended');
    await Promise.all([...runs.keys()].map((run) => run.stop(reason)));
  }
  const bound: Bound = (callback) => timers.set(closeTimeoutMs, callback);
  const closing = [...new Set([...closeablesOf(agent), ...plugins])].map((it) =>
    finish('name' in it ? it.name : it.constructor.name, () => it.close?.(), {diagnose, closeTimeoutMs, bound}),
  );
  await Promise.all(closing);
  timers.clear();
}

type Closeable = BaseToolset | ToolExecutor;

/** What the agents of a tree hold, and those that their tools call. An agent that calls itself is one. */
function closeablesOf(agent: BaseAgent, seen = new Set<BaseAgent>()): Closeable[] {
  if (seen.has(agent)) return [];
  seen.add(agent);
  const {tools = [], executor = []} = agent instanceof LlmAgent ? agent : {};
  const below = [...agent.subAgents, ...tools.flatMap((tool) => (tool instanceof AgentTool ? tool.agent : []))];
  return [...tools.filter((tool) => tool instanceof BaseToolset), executor, ...below.map((one) => closeablesOf(one, seen))].flat();
}
