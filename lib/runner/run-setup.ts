import type {BaseAgent} from '../agents/base-agent.ts';
import type {BasePlugin} from '../agents/base-plugin.ts';
import type {PluginHooks} from '../agents/plugin-hooks.ts';
import {unusedOption, type Diagnostic} from '../agents/diagnostic.ts';
import {resolveRunConfig, type ResolvedRunConfig, type RunConfig} from '../agents/run-config.ts';
import type {RunServices} from '../context/context-options.ts';
import type {Event} from '../events/event.ts';
import type {BaseSessionService} from '../sessions/base-session-service.ts';
import type {Steps} from '../steps/steps.ts';
import {acquireSession} from '../sessions/session-queue.ts';
import type {RunLife, RunSetup} from './run-life.ts';
import type {RunRequest} from './run-request.ts';
import type {RunnerConfig} from './runner-config.ts';
import {guarded, warnOnce} from './warn-once.ts';
import type {Run} from './run.ts';

/** What a runner gives to all its runs. */
export interface RunHost {
  readonly appName: string;
  readonly agent: BaseAgent;
  readonly sessionService: BaseSessionService;
  readonly services: RunServices;
  readonly runConfig: RunConfig | undefined;
  readonly plugins: readonly BasePlugin[];
  readonly autoCreateSession: boolean;
  readonly diagnose: (diagnostic: Diagnostic) => void;
  /** Told of options that have no effect. */
  readonly unused: (option: string) => void;
  /** Those under way, and whose they are. */
  readonly runs: Map<Run, Pick<RunRequest, 'userId' | 'sessionId'>>;
}

export interface RunTerms {
  readonly request: Pick<RunRequest, 'userId' | 'sessionId' | 'abortSignal'>;
  readonly config: ResolvedRunConfig;
  /** Whether others on its session fail at once instead of waiting for it. */
  readonly exclusive: boolean;
}

/** @throws {@link InvalidOptionError} for a `runConfig` that cannot be used */
export function runHost(config: RunnerConfig): RunHost {
  const {appName, agent, sessionService, plugins = [], runConfig, autoCreateSession = false} = config;
  const diagnose = guarded(config.onDiagnostic ?? warnOnce());
  const unused = unusedOption(diagnose);
  resolveRunConfig([runConfig], unused, true);
  const runs: RunHost['runs'] = new Map();
  return {appName, agent, sessionService, services: config, plugins: [...plugins], runConfig, autoCreateSession, diagnose, unused, runs};
}

/** One attempt at the loop of a run. */
export interface Flow {
  readonly invocationId: string;
  readonly request: RunRequest;
  /** Whether to create the session where there is none. */
  readonly create: boolean;
  readonly steps: Steps;
  readonly life: RunLife;
}

const BEFORE_RUN = Symbol.for('sluice.beforeRun');

/** How a run starts: `begin` makes its loop once it holds its session. */
export function runSetup(
  {appName, sessionService, diagnose, runs}: RunHost,
  run: Run,
  {request: {userId, sessionId, abortSignal}, config, exclusive}: RunTerms,
  begin: (life: RunLife) => AsyncGenerator<Event, void, undefined> | Promise<AsyncGenerator<Event, void, undefined>>,
): RunSetup {
  // Set on worker threads, where no module may start a run while it loads.
  (globalThis as {[BEFORE_RUN]?: () => void})[BEFORE_RUN]?.();
  return {
    config,
    abortSignal,
    diagnose,
    onStart: () => runs.set(run, {userId, sessionId}),
    onEnd: () => runs.delete(run),
    begin: async (life) => {
      life.release = await acquireSession(
        sessionService,
        {appName, userId, sessionId},
        {holder: run.invocationId, waitMs: config.sessionWaitMs, abortSignal: life.life.signal, timers: life.timers, exclusive},
      );
      return begin(life);
    },
  };
}

/** What calls the plugins of a runner; nothing where it has none. */
export async function pluginHooks({plugins}: RunHost): Promise<PluginHooks | undefined> {
  return plugins.length > 0 ? new (await import('sluice/plugins')).PluginChain(plugins) : undefined;
}

/** The agent that the next message goes to: the one that spoke last may have been handed the conversation. */
export async function agentToAnswer(root: BaseAgent, events: readonly Event[]): Promise<BaseAgent> {
  return root.subAgents.length > 0 ? (await import('sluice/flow')).agentToAnswer(root, events) : root;
}
