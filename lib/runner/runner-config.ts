import {BaseAgent} from '../agents/base-agent.ts';
import type {BasePlugin} from '../agents/base-plugin.ts';
import type {Diagnostic} from '../agents/diagnostic.ts';
import type {LlmAgent} from '../agents/llm/llm-agent.ts';
import type {RunConfig} from '../agents/run-config.ts';
import type {BaseArtifactService} from '../artifacts/base-artifact-service.ts';
import type {BaseMemoryService} from '../memory/base-memory-service.ts';
import {checkOptions, has, isAnything, isBoolean, isFunction, isName, optional, type OptionSpec} from '../schema/options.ts';
import {BaseSessionService} from '../sessions/base-session-service.ts';
import type {StepEngine} from '../steps/steps.ts';

/** What a `Runner` is made of. */
export interface RunnerConfig<T = unknown> {
  /** Names the app in its sessions. */
  readonly appName: string;
  /** The agent that answers; the root of its tree. */
  readonly agent: BaseAgent | LlmAgent<T>;
  /** Runs over one service, whichever runner made them, take turns on a session. */
  readonly sessionService: BaseSessionService;
  /** `true`: a session that does not exist is created. Default `false`. */
  readonly autoCreateSession?: boolean | undefined;
  /** Keeps files that runs make, such as the sound of live runs (`runConfig.saveLiveBlob`). Default: none. */
  readonly artifactService?: BaseArtifactService | undefined;
  /** Hooks for all agents, asked in this order and before the agents' own. Default: none. */
  readonly plugins?: readonly BasePlugin[] | undefined;
  /** Remembers sessions, for `LOAD_MEMORY` and `PRELOAD_MEMORY`. Default: none. */
  readonly memoryService?: BaseMemoryService | undefined;
  /** Limits and modes for all runs; a run's own win. */
  readonly runConfig?: RunConfig | undefined;
  /** Told what a run survived and its owner should know. Default: `console.warn`, once per code and name. */
  readonly onDiagnostic?: ((diagnostic: Diagnostic) => unknown) | undefined;
  /** What drives the steps of a run. Default: in process, without records. */
  readonly stepEngine?: StepEngine | undefined;
}

const OPTIONS: OptionSpec<RunnerConfig> = {
  appName: isName,
  agent: {expected: 'an agent', accepts: (value) => value instanceof BaseAgent},
  sessionService: {expected: 'a BaseSessionService', accepts: (value) => value instanceof BaseSessionService},
  autoCreateSession: optional(isBoolean),
  artifactService: optional(has('saveArtifact', 'a BaseArtifactService')),
  plugins: optional({expected: 'an array of plugins of different names', accepts: arePlugins}),
  memoryService: optional(has('searchMemory', 'a BaseMemoryService')),
  runConfig: isAnything,
  onDiagnostic: optional(isFunction),
  stepEngine: optional(has('drive', 'a StepEngine')),
};

/** @throws {@link InvalidOptionError} for an unknown option or a value that cannot be used */
export function checkRunnerConfig(config: RunnerConfig): void {
  checkOptions('runner', config, OPTIONS);
  checkModels(config.agent);
}

function checkModels(agent: BaseAgent): void {
  // An agent without a model of its own or above it throws here, and not in the first run that reaches it.
  void agent.canonicalModel;
  agent.subAgents.forEach(checkModels);
}

function arePlugins(value: unknown): boolean {
  if (!Array.isArray(value)) return false;
  const names = value.map((plugin?: {name?: unknown}) => (typeof plugin === 'object' ? plugin.name : undefined));
  return names.every(isName.accepts) && new Set(names).size === names.length;
}
