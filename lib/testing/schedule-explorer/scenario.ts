import type {BaseAgent} from '../../agents/base-agent.ts';
import type {BasePlugin} from '../../agents/base-plugin.ts';
import {ParallelAgent} from '../../agents/workflow/parallel-agent.ts';
import type {Runner} from '../../runner/runner.ts';
import type {RunRequest} from '../../runner/run-request.ts';

/** What one schedule is tried on. Everything in it is made anew for each schedule. */
export interface Scenario {
  readonly runner: Runner;
  /** The run that is stopped. Its `runConfig` stands but for the modes and the deadline, which the schedule sets. */
  readonly request: Omit<RunRequest, 'abortSignal'>;
  /** Runs that are started before that one, and read to their end. */
  readonly earlier?: readonly RunRequest[] | undefined;
  /** The same, started right after it. */
  readonly later?: readonly RunRequest[] | undefined;
  /** Agents that take part and do not stand in the tree of the runner's agent. */
  readonly agents?: readonly BaseAgent[] | undefined;
  /** The plugins of the runner. */
  readonly plugins?: readonly BasePlugin[] | undefined;
  /** Called when the run has settled: lets what ignored the stop answer, late. */
  readonly release?: (() => void) | undefined;
}

/** What a scenario gets to work with. */
export interface ScenarioTools {
  /** Makes a landmark of the place that calls it: `landmark('halfway')` is `halfway #1`, and the next call `halfway #2`. */
  readonly landmark: (name: string) => void;
}

/**
 * Builds everything that a run needs: models, tools, stores, agents, a runner, and the session if it is to exist. It may read other runs to
 * their end before, such as the one that asks what the explored one brings the answer to: nobody stops these, and time passes for them.
 */
export type ScenarioFactory = (tools: ScenarioTools) => Scenario | Promise<Scenario>;

/** Whether agents run beside each other: then they can be ended within a run, and go on while its reader is idle, each to its next Event. */
export function runsBranches(scenario: Scenario): boolean {
  return agentsOf(scenario).some((agent) => agent instanceof ParallelAgent);
}

/** All agents that take part. */
export function agentsOf({runner, agents = []}: Scenario): BaseAgent[] {
  const tree = (agent: BaseAgent): BaseAgent[] => [agent, ...agent.subAgents.flatMap(tree)];
  return [runner.agent, ...agents].flatMap(tree);
}
