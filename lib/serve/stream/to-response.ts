import {Timers} from '../../async/timers.ts';
import {within} from '../../async/within.ts';
import {expectOption} from '../../errors.ts';
import {Run} from '../../runner/run.ts';
import {
  checkOptions,
  isFunction,
  isMs,
  isName,
  isOneOf,
  isPositiveMs,
  optional,
  type Check,
  type OptionSpec,
} from '../../schema/options.ts';
import {isEvent, RunReader} from './run-source.ts';
import {encoderFor, type StreamFormat} from './stream-format.ts';
import {StreamResponse} from './stream-response.ts';

/** How a response is written, and who tells that its client has left. */
export interface StreamOptions {
  /** Default `'sse'`. */
  readonly format?: StreamFormat | undefined;
  /** The request that is answered. When its signal fires, the client has left. It is held until the response has ended. */
  readonly request?: Request | undefined;
  /** Says that the client has left, where a host has no `Request` that does. */
  readonly signal?: AbortSignal | undefined;
  /** How long the stream is silent before the client is shown that it lives, in milliseconds. Default 15,000; `Infinity`: never. */
  readonly heartbeatMs?: number | undefined;
  /**
   * The id of the message that a UI message stream makes. Default: the run's `invocationId`. A response to answers of waiting calls goes on
   * with the message that has the calls: give the `messageId` of {@link readChatRequest}.
   */
  readonly messageId?: string | undefined;
}

/** What {@link toResponse} takes. */
export interface ToResponseOptions extends StreamOptions {
  /**
   * What it means for the run that the client leaves: `'abort'` ends it, `'continue'` lets it go on to its end, unread. Default `'abort'`.
   * For clients that come back, use a {@link RunFeed}.
   */
  readonly onDisconnect?: 'abort' | 'continue' | undefined;
  /** Is given `run.settled`: what keeps a serverless host awake until everything is stored. */
  readonly waitUntil?: ((promise: Promise<unknown>) => void) | undefined;
  /**
   * Told of the error that ended the run, as it is, for the server's log; not of stops. Default: `console.error` for errors of which the
   * client is only told that there was one.
   */
  readonly onError?: ((error: unknown) => void) | undefined;
}

/** What {@link startResponse} takes. */
export interface StartResponseOptions extends ToResponseOptions {
  /** How long to wait for the first Event, in milliseconds. Default 1,000. */
  readonly startMs?: number | undefined;
}

const isSignal: Check = {expected: 'an AbortSignal', accepts: (value) => value instanceof AbortSignal};

/** @internal */
export const streamOptions: OptionSpec<StreamOptions> = {
  format: optional(isOneOf(['sse', 'ndjson', 'ui-message-stream'])),
  request: optional({expected: 'a Request', accepts: (value) => value instanceof Request}),
  signal: optional(isSignal),
  heartbeatMs: optional(isPositiveMs),
  messageId: optional(isName),
};

const OPTIONS: OptionSpec<StartResponseOptions> = {
  ...streamOptions,
  onDisconnect: optional(isOneOf(['abort', 'continue'])),
  waitUntil: optional(isFunction),
  onError: optional(isFunction),
  startMs: optional(isMs),
};

/** @internal */
export const DEFAULT_HEARTBEAT_MS = 15_000;
/** @internal */
export const DEFAULT_START_MS = 1_000;

/**
 * A run as an HTTP response. The run stays cold until the body is read, and is pulled at the client's demand: nothing runs ahead of a slow
 * client. When the client leaves, the run ends at once; its session is valid then.
 *
 * An error that ends the run is the last message, with a `code`; only Sluice's own errors tell their message, and a model's only its kind:
 * see {@link clientError} and `onError`.
 *
 * @throws {@link InvalidOptionError} for an option that cannot be used
 * @example
 * ```ts
 * import {InMemoryRunner, LlmAgent, StreamingMode} from 'sluice';
 * import {toResponse} from 'sluice/serve';
 *
 * const agent = new LlmAgent({name: 'clerk', model: 'gemini-2.5-flash', instruction: 'Answer briefly.'});
 * const runner = new InMemoryRunner({agent, autoCreateSession: true});
 *
 * export async function POST(request: Request): Promise<Response> {
 *   const newMessage = {role: 'user', parts: [{text: await request.text()}]};
 *   const runConfig = {streamingMode: StreamingMode.SSE};
 *   return toResponse(runner.runAsync({userId: 'u', sessionId: 's', newMessage, runConfig}), {request});
 * }
 * ```
 */
export function toResponse(run: Run, options: ToResponseOptions = {}): Response {
  return prepare('toResponse options', run, options).stream.open();
}

/**
 * As {@link toResponse}, but starts the run and waits for its first Event, so that what fails at once (a session that does not exist, a
 * message that cannot be used) is no stream but an error that the route answers with a status of its own. After `startMs` it waits no
 * longer: headers should not be late because a model thinks.
 *
 * @throws {@link InvalidOptionError} for an option that cannot be used, and whatever ended the run before its first Event
 */
export async function startResponse(run: Run, options: StartResponseOptions = {}): Promise<Response> {
  const {reader, stream} = prepare('startResponse options', run, options);
  // Opened first: the client may leave meanwhile.
  const response = stream.open();
  const timers = new Timers();
  const first = reader.start();
  if (await within(first, (callback) => timers.set(options.startMs ?? DEFAULT_START_MS, callback))) {
    const step = await first;
    if (!isEvent(step) && step.outcome && 'reason' in step.outcome) {
      stream.close();
      throw step.outcome.reason;
    }
  }
  return response;
}

function prepare(owner: string, run: Run, options: StartResponseOptions): {reader: RunReader; stream: StreamResponse} {
  expectOption(run instanceof Run, 'run', 'a Run, as `runner.runAsync` gives it', run);
  checkOptions(owner, options, OPTIONS);
  const {format = 'sse', onDisconnect = 'abort', heartbeatMs = DEFAULT_HEARTBEAT_MS, request, signal, messageId, onError} = options;
  const reader = new RunReader(run, {onDisconnect, onError});
  options.waitUntil?.(run.settled);
  const encoder = encoderFor(format, {invocationId: run.invocationId, messageId, canResume: false});
  return {reader, stream: new StreamResponse(reader, encoder, {heartbeatMs, request, signal})};
}
