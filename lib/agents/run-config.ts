import type {LiveConnectConfig} from '../content.ts';
import {anyOf, checkOptions, isMs, isNumber, isOneOf, isPositiveMs, isWholeNumber, optional, type OptionSpec} from '../schema/options.ts';

/** How the calls of one reply are run. Their responses stand in call order in every mode. */
export const ToolExecutionMode = {
  /** The default, `PARALLEL`. */
  NONE: 'none',
  /** One after the other; each sees the state that those before it wrote. */
  SEQUENTIAL: 'sequential',
  /** At the same time, up to `maxConcurrentTools`. A body that blocks the event loop still holds up the others. */
  PARALLEL: 'parallel',
  /** As `PARALLEL`, with the body of each tool that has a `worker` on a thread of its own: bodies that block overlap, and hold up nobody. */
  PARALLEL_SUBSCRIBE: 'parallel_subscribe',
} as const;
export type ToolExecutionMode = (typeof ToolExecutionMode)[keyof typeof ToolExecutionMode];

/** Whether a run shows the model's reply while it comes. */
export const StreamingMode = {
  /** Whole replies only. */
  NONE: 'none',
  /** Partial Events, then the whole one. */
  SSE: 'sse',
  /** For live runs only; `runAsync` refuses it. */
  BIDI: 'bidi',
} as const;
export type StreamingMode = (typeof StreamingMode)[keyof typeof StreamingMode];

type LiveKey =
  | 'speechConfig'
  | 'enableAffectiveDialog'
  | 'proactivity'
  | 'realtimeInputConfig'
  | 'contextWindowCompression'
  | 'explicitVadSignal'
  | 'avatarConfig'
  | 'translationConfig';

/** What a live run asks of its model. `runAsync` accepts these too, without effect, and `onDiagnostic` is told. */
export interface LiveRunConfig extends Readonly<Pick<LiveConnectConfig, LiveKey>> {
  /** `['AUDIO']` or `['TEXT']`. Default `['AUDIO']`. */
  readonly responseModalities?: readonly string[] | undefined;
  /** How what the user says is written down; `false`: not at all, and then it is not stored either. Default `{}`. */
  readonly inputAudioTranscription?: LiveConnectConfig['inputAudioTranscription'] | false;
  /** The same for what the model says. Default `{}` where it answers with sound. */
  readonly outputAudioTranscription?: LiveConnectConfig['outputAudioTranscription'] | false;
  /** How a lost connection is resumed; `false`: a new one starts from the stored history. Default `{}`. */
  readonly sessionResumption?: LiveConnectConfig['sessionResumption'] | false;
  /** Whether the sound of each turn is kept by the runner's `artifactService`. Default `false`. */
  readonly saveLiveBlob?: boolean | undefined;
}

/** Options of ADK that mean nothing to a run here. They are accepted, and `onDiagnostic` is told. */
export interface AdkRunConfig {
  readonly saveInputBlobsAsArtifacts?: unknown;
  readonly supportCfc?: unknown;
  readonly pauseOnToolCalls?: unknown;
  readonly plainTextToolConfirmation?: unknown;
  readonly allowRemoteToolConfirmation?: unknown;
  readonly remoteDelivered?: unknown;
}

/** The limits and modes of a run. A key that is missing or `undefined` takes the runner's value, then the default. */
export interface RunConfig extends AdkRunConfig, LiveRunConfig {
  /** Wall time of the run from its first `next()`, in milliseconds. Default 600,000; `Infinity` turns it off. */
  readonly timeoutMs?: number | undefined;
  /** How long to wait for another run on the same session, in milliseconds. Default 60,000. */
  readonly sessionWaitMs?: number | undefined;
  /** How long work that ignores its signal is waited for after a stop, in milliseconds. Default 250. */
  readonly abortGraceMs?: number | undefined;
  /** How long the closing may take (storing what is done, `afterAgent` hooks), in milliseconds. Default 1,000. */
  readonly closeTimeoutMs?: number | undefined;
  /** Model calls of the whole run, over all its agents. Default 50; 0 or less, or `Infinity`: no limit. */
  readonly maxLlmCalls?: number | undefined;
  /** Tool bodies at the same time, over the whole run. Default 10. */
  readonly maxConcurrentTools?: number | undefined;
  /**
   * How long a tool's body may hold up the event loop, in milliseconds; longer is told to `onDiagnostic` (`LOOP_BLOCKED`). Default 100;
   * `Infinity` turns it off.
   */
  readonly blockedLoopMs?: number | undefined;
  /** Default `PARALLEL`. */
  readonly toolExecutionMode?: ToolExecutionMode | undefined;
  /** Default `NONE`. */
  readonly streamingMode?: StreamingMode | undefined;
  /** How much of a live run may wait for its reader, in bytes of JSON. Default 16 MiB. */
  readonly liveBufferBytes?: number | undefined;
}

/** A run's configuration with every value in its place. */
export type ResolvedRunConfig = Limits & LiveRunConfig;

type Limits = {readonly [K in Exclude<keyof RunConfig, keyof AdkRunConfig | keyof LiveRunConfig>]-?: NonNullable<RunConfig[K]>};

const DEFAULTS: Limits = {
  timeoutMs: 600_000,
  sessionWaitMs: 60_000,
  abortGraceMs: 250,
  closeTimeoutMs: 1_000,
  maxLlmCalls: 50,
  maxConcurrentTools: 10,
  blockedLoopMs: 100,
  toolExecutionMode: ToolExecutionMode.PARALLEL,
  streamingMode: StreamingMode.NONE,
  liveBufferBytes: 16 * 1024 * 1024,
};

/** Options of ADK that mean nothing to a run here; a program that sets them still runs, and is told. */
const UNUSED: readonly string[] =
  'saveInputBlobsAsArtifacts supportCfc pauseOnToolCalls plainTextToolConfirmation allowRemoteToolConfirmation remoteDelivered'.split(' ');

/** Options of a live run. The live loop checks their values. */
const LIVE: readonly string[] =
  'responseModalities speechConfig inputAudioTranscription outputAudioTranscription enableAffectiveDialog proactivity realtimeInputConfig contextWindowCompression explicitVadSignal avatarConfig translationConfig sessionResumption saveLiveBlob'.split(
    ' ',
  );

const isCount = optional(anyOf(isWholeNumber({min: 1}), isOneOf([Infinity])));

const OPTIONS: OptionSpec<Limits> = {
  timeoutMs: optional(isPositiveMs),
  sessionWaitMs: optional(isMs),
  abortGraceMs: optional(isMs),
  closeTimeoutMs: optional(isMs),
  maxLlmCalls: optional(isNumber),
  maxConcurrentTools: isCount,
  blockedLoopMs: optional(isPositiveMs),
  toolExecutionMode: optional(isOneOf(Object.values(ToolExecutionMode))),
  streamingMode: optional(isOneOf(Object.values(StreamingMode))),
  liveBufferBytes: isCount,
};

const OTHERS = [...UNUSED, ...LIVE];

/**
 * One configuration out of several, the first given the strongest.
 *
 * @param unused - told of each known option that has no effect
 * @param live - whether it is for a live run; otherwise the first configuration is told which of its options are for one
 * @throws {@link InvalidOptionError} for an unknown key or a value that cannot be used
 */
export function resolveRunConfig(
  configs: readonly (RunConfig | undefined)[],
  unused: (option: string) => void,
  live = false,
): ResolvedRunConfig {
  const resolved: Record<string, unknown> = {...DEFAULTS};
  for (const config of configs.toReversed()) {
    if (config === undefined) continue;
    checkOptions<Partial<Limits>>('runConfig', config as Partial<Limits>, OPTIONS, OTHERS);
    for (const [key, value] of Object.entries(config)) {
      if (value === undefined) continue;
      if (UNUSED.includes(key) || (!live && config === configs[0] && LIVE.includes(key))) unused(key);
      else resolved[key] = value;
    }
  }
  return resolved as unknown as ResolvedRunConfig;
}
