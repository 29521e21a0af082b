import {BaseAgent} from '../agents/base-agent.ts';
import type {Diagnostic} from '../agents/diagnostic.ts';
import type {RunConfig} from '../agents/run-config.ts';
import {InvalidOptionError} from '../errors.ts';
import {BaseSessionService} from '../sessions/base-session-service.ts';
import type {StepEngine} from '../steps/steps.ts';

/** What a `Runner` is made of. */
export interface RunnerConfig {
  /** Names the app in its sessions. */
  readonly appName: string;
  /** The agent that answers; the root of its tree. */
  readonly agent: BaseAgent;
  /** Runs over one service, whichever runner made them, take turns on a session. */
  readonly sessionService: BaseSessionService;
  /** `true`: a session that does not exist is created. Default `false`. */
  readonly autoCreateSession?: boolean | undefined;
  /** Limits and modes for all runs; a run's own win. */
  readonly runConfig?: RunConfig | undefined;
  /** Told what a run survived and its owner should know. Default: `console.warn`, once per code and name. */
  readonly onDiagnostic?: ((diagnostic: Diagnostic) => void) | undefined;
  /** What drives the steps of a run. Default: in process, without records. */
  readonly stepEngine?: StepEngine | undefined;
}

const KEYS: ReadonlySet<string> = new Set(['appName', 'agent', 'sessionService', 'autoCreateSession', 'runConfig', 'onDiagnostic', 'stepEngine']);

/** @throws {@link InvalidOptionError} for an unknown option or a value that cannot be used */
export function checkRunnerConfig(config: RunnerConfig): void {
  if (typeof config !== 'object' || config === null) throw new InvalidOptionError('runner', 'an object of options', config);
  for (const [key, value] of Object.entries(config)) {
    if (value !== undefined && !KEYS.has(key)) throw new InvalidOptionError(`runner.${key}`, `left out; the options are ${[...KEYS].join(', ')}`, value);
  }
  const check = (option: keyof RunnerConfig, expected: string, fits: boolean): void => {
    if (!fits) throw new InvalidOptionError(`runner.${option}`, expected, config[option]);
  };
  const isOptional = (value: unknown, type: string): boolean => value === undefined || typeof value === type;
  check('appName', 'a string that is not empty', typeof config.appName === 'string' && config.appName !== '');
  check('agent', 'an agent', config.agent instanceof BaseAgent);
  check('sessionService', 'a BaseSessionService', config.sessionService instanceof BaseSessionService);
  check('autoCreateSession', 'a boolean', isOptional(config.autoCreateSession, 'boolean'));
  check('onDiagnostic', 'a function', isOptional(config.onDiagnostic, 'function'));
  check('stepEngine', 'a StepEngine', config.stepEngine === undefined || typeof config.stepEngine?.drive === 'function');
}
