import {BaseAgent} from '../agents/base-agent.ts';
import type {Diagnostic} from '../agents/diagnostic.ts';
import type {RunConfig} from '../agents/run-config.ts';
import type {BaseArtifactService} from '../artifacts/base-artifact-service.ts';
import {InvalidOptionError} from '../errors.ts';
import {Runner} from '../runner/runner.ts';
import {isRecord} from '../schema/is-record.ts';
import {
  anyOf,
  checkOptions,
  has,
  isAnything,
  isFunction,
  isOneOf,
  isPositiveMs,
  isWholeNumber,
  optional,
  type Check,
  type OptionSpec,
} from '../schema/options.ts';
import {BaseSessionService} from '../sessions/base-session-service.ts';
import type {Authorize} from './access.ts';
import {isPathName} from './stream/path-name.ts';

/** What a handler serves, and how. Exactly one of `agents`, `runner` and `runners` says what. */
export interface HandlerOptions {
  /** The apps by their names. The handler makes a Runner for each, all over one session service. */
  readonly agents?: Readonly<Record<string, BaseAgent>> | undefined;
  /** One app, named by the runner's `appName`. Closing the handler closes it. */
  readonly runner?: Runner | undefined;
  /** Several apps, as `runner`. */
  readonly runners?: readonly Runner[] | undefined;
  /** With `agents`: keeps their sessions. Default: in memory. */
  readonly sessionService?: BaseSessionService | undefined;
  /** Its files are served under each session; with `agents`, their runs keep files there too. Default: none, and the routes answer 404. */
  readonly artifactService?: BaseArtifactService | undefined;
  /** With `agents`: limits and modes of their runs. */
  readonly runConfig?: RunConfig | undefined;
  /** With `agents`: told what a run survived. Default: `console.warn`, once per code and name. */
  readonly onDiagnostic?: ((diagnostic: Diagnostic) => unknown) | undefined;
  /**
   * What becomes of a run whose client leaves. `'abort'`, the default, ends it. With `'continue'` it goes on to its end, and clients
   * attach to it again at `GET .../sessions/{id}/run_sse` with `Last-Event-ID`; a live run ends all the same.
   */
  readonly onDisconnect?: 'abort' | 'continue' | undefined;
  /** The longest body, and the longest message of a WebSocket, in bytes. Default 20 MiB: media come as base64. */
  readonly maxBodyBytes?: number | undefined;
  /** How often a stream that has nothing to say tells that it lives, in milliseconds. Default 15,000; `Infinity`: never. */
  readonly heartbeatMs?: number | undefined;
  /**
   * Origins whose pages may use the handler, such as `https://app.example`, or `'*'` for any. Default: none but its own, that of the
   * request's `Host`. Behind a proxy that changes `Host`, name the public origin here.
   */
  readonly cors?: '*' | readonly string[] | undefined;
  /** Asked about every request but `GET /health`, before anything is done for it. Default: all may. */
  readonly authorize?: Authorize | undefined;
  /** Told of failures that the client is not, for the server's log. Default: `console.error`. */
  readonly onError?: ((error: unknown) => unknown) | undefined;
  /** What stands before every route, such as `/api`. Default: nothing. */
  readonly basePath?: string | undefined;
}

const isRunner: Check = {
  expected: `a Runner whose \`appName\` is ${isPathName.expected}`,
  accepts: (value) => value instanceof Runner && isPathName.accepts(value.appName),
};

const OPTIONS: OptionSpec<HandlerOptions> = {
  agents: optional({
    expected: `a record of agents by the names of their apps, with at least one; a name is ${isPathName.expected}`,
    accepts: (value) =>
      isRecord(value) &&
      isFilled(Object.values(value), (agent) => agent instanceof BaseAgent) &&
      Object.keys(value).every(isPathName.accepts),
  }),
  runner: optional(isRunner),
  runners: optional({
    expected: `an array of Runners for different apps, with at least one; each is ${isRunner.expected}`,
    accepts: (value) =>
      Array.isArray(value) &&
      isFilled(value, isRunner.accepts) &&
      new Set((value as Runner[]).map(({appName}) => appName)).size === value.length,
  }),
  sessionService: optional({expected: 'a BaseSessionService', accepts: (value) => value instanceof BaseSessionService}),
  artifactService: optional(has('saveArtifact', 'a BaseArtifactService')),
  runConfig: isAnything,
  onDiagnostic: optional(isFunction),
  onDisconnect: optional(isOneOf(['abort', 'continue'])),
  maxBodyBytes: optional(anyOf(isWholeNumber({min: 1}), isOneOf([Infinity]))),
  heartbeatMs: optional(isPositiveMs),
  cors: optional({expected: '"*" or an array of origins, such as ["https://app.example"]', accepts: isOrigins}),
  authorize: optional(isFunction),
  onError: optional(isFunction),
  basePath: optional({expected: 'a path such as "/api", with a slash in front and none at its end', accepts: isBasePath}),
};

/** What belongs to the runners that the handler makes. */
const WITH_AGENTS = ['sessionService', 'runConfig', 'onDiagnostic'] as const;

/** @throws {@link InvalidOptionError} for an unknown option, and for a value or a combination that cannot be used */
export function checkHandlerOptions(options: HandlerOptions): void {
  checkOptions('handler', options, OPTIONS);
  const {agents, runner, runners} = options;
  const given = [agents, runner, runners].filter((it) => it !== undefined);
  if (given.length !== 1) throw new InvalidOptionError('handler', 'given exactly one of agents, runner and runners', options);
  if (agents) return;
  for (const key of WITH_AGENTS) {
    if (options[key] !== undefined)
      throw new InvalidOptionError(`handler.${key}`, 'absent: a Runner that is given has its own', options[key]);
  }
}

function isFilled(values: readonly unknown[], accepts: (value: unknown) => boolean): boolean {
  return values.length > 0 && values.every(accepts);
}

function isOrigins(value: unknown): boolean {
  return value === '*' || (Array.isArray(value) && value.every(isOrigin));
}

function isOrigin(value: unknown): boolean {
  return typeof value === 'string' && URL.canParse(value) && new URL(value).origin === value;
}

function isBasePath(value: unknown): boolean {
  return value === '' || (typeof value === 'string' && /^(?:\/[^/?#]+)+$/.test(value) && URL.canParse(value, 'http://host'));
}
