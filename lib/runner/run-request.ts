import type {Content} from '../content.ts';
import {InvalidOptionError} from '../errors.ts';
import {StreamingMode, type ResolvedRunConfig, type RunConfig} from '../agents/run-config.ts';

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

const KEYS: ReadonlySet<string> = new Set(['userId', 'sessionId', 'newMessage', 'stateDelta', 'runConfig', 'abortSignal', 'customMetadata']);

/** @throws {@link InvalidOptionError} for a request that cannot be run */
export function checkRunRequest(request: RunRequest, config: ResolvedRunConfig): void {
  for (const [key, value] of Object.entries(request)) {
    if (value !== undefined && !KEYS.has(key)) throw new InvalidOptionError(key, `left out; the options are ${[...KEYS].join(', ')}`, value);
  }
  for (const key of ['userId', 'sessionId'] as const) {
    if (typeof request[key] !== 'string' || request[key] === '') throw new InvalidOptionError(key, 'a string that is not empty', request[key]);
  }
  for (const key of ['stateDelta', 'customMetadata'] as const) {
    const value = request[key];
    if (value !== undefined && (typeof value !== 'object' || value === null || Array.isArray(value))) throw new InvalidOptionError(key, 'an object', value);
  }
  const {abortSignal} = request;
  if (abortSignal !== undefined && !(abortSignal instanceof AbortSignal)) throw new InvalidOptionError('abortSignal', 'an AbortSignal', abortSignal);
  if (config.streamingMode === StreamingMode.BIDI) {
    throw new InvalidOptionError('runConfig.streamingMode', "'none' or 'sse' in runAsync", config.streamingMode);
  }
  checkMessage(request.newMessage);
}

function checkMessage(message: Content): void {
  if (typeof message !== 'object' || message === null) throw new InvalidOptionError('newMessage', 'a content, {role: "user", parts: [...]}', message);
  if (message.role !== undefined && message.role !== 'user') throw new InvalidOptionError('newMessage.role', '"user"', message.role);
  if (!Array.isArray(message.parts) || message.parts.length === 0) {
    throw new InvalidOptionError('newMessage.parts', 'an array of at least one part', message.parts);
  }
  for (const part of message.parts) {
    const isPart = typeof part === 'object' && part !== null && Object.values(part).some((value) => value !== undefined);
    if (!isPart) throw new InvalidOptionError('newMessage.parts', 'parts such as {text: "..."}', part);
  }
  if (message.parts.every((part) => part.text === '' && Object.keys(part).length === 1)) {
    throw new InvalidOptionError('newMessage.parts', 'a message that is not empty', message.parts[0]?.text);
  }
}
