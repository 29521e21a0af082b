import type {Content} from '../content.ts';
import {StreamingMode, type ResolvedRunConfig, type RunConfig} from '../agents/run-config.ts';
import {checkUserParts} from '../agents/user-parts.ts';
import {expectOption} from '../errors.ts';
import {isRecord} from '../schema/is-record.ts';
import {checkOptions, isAnything, isName, isObject, optional, type OptionSpec} from '../schema/options.ts';

/** One run: who says what, and how it may be stopped. */
export interface RunRequest {
  readonly userId: string;
  readonly sessionId: string;
  /** What the user says, or the answers to calls that wait (`functionResponse` parts with their ids). */
  readonly newMessage: Content;
  /** State that changes with the message; `temp:` keys live as long as the run. */
  readonly stateDelta?: Readonly<Record<string, unknown>> | undefined;
  /** Limits and modes of this run; a value here wins over the runner's. */
  readonly runConfig?: RunConfig | undefined;
  /** Stops the run; `next()` then rejects with its reason. Nothing is left on it afterwards. */
  readonly abortSignal?: AbortSignal | undefined;
  /** Stored with the user's Event. */
  readonly customMetadata?: Readonly<Record<string, unknown>> | undefined;
}

/** A run of one message in a session that is made for it and deleted with its end. */
export type EphemeralRunRequest = Omit<RunRequest, 'sessionId'>;

/** Which runs to stop: those of a session, or one run. */
export type RunSelector =
  | {readonly userId: string; readonly sessionId: string; readonly invocationId?: undefined}
  | {readonly invocationId: string};

/** The options that every run has. */
export const runOptions: OptionSpec<Pick<RunRequest, 'userId' | 'sessionId' | 'runConfig' | 'abortSignal'>> = {
  userId: isName,
  sessionId: isName,
  runConfig: isAnything,
  abortSignal: optional({expected: 'an AbortSignal', accepts: (value) => value instanceof AbortSignal}),
};

const OPTIONS: OptionSpec<RunRequest> = {
  ...runOptions,
  newMessage: {expected: 'a content, {role: "user", parts: [...]}', accepts: isRecord},
  stateDelta: optional(isObject),
  customMetadata: optional(isObject),
};

/** @throws {@link InvalidOptionError} for a request that cannot be run */
export function checkRunRequest(request: RunRequest, {streamingMode}: ResolvedRunConfig): void {
  checkOptions('request', request, OPTIONS);
  checkMessage(request.newMessage);
  expectOption(streamingMode !== StreamingMode.BIDI, 'runConfig.streamingMode', '"none" or "sse" in runAsync', streamingMode);
}

function checkMessage({role, parts}: Content): void {
  expectOption(role === undefined || role === 'user', 'request.newMessage.role', '"user"', role);
  const option = 'request.newMessage.parts';
  expectOption(Array.isArray(parts) && parts.length > 0, option, 'an array of at least one part', parts);
  checkUserParts(parts, option);
}
