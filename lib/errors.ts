/**
 * Every error that Sluice itself throws. `code` is the stable contract, messages are not; `cause` is always passed on.
 *
 * @example
 * ```ts
 * import {SluiceError} from 'sluice';
 *
 * function isBusy(error: unknown): boolean {
 *   return error instanceof SluiceError && error.code === 'SESSION_BUSY';
 * }
 * ```
 */
export abstract class SluiceError extends Error {
  /** Names the kind of failure; safe to compare in code. */
  abstract readonly code: string;

  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
  }
}

/** An option, argument or schema that cannot be used. Thrown at construction, or by the first `next()` of a run. */
export class InvalidOptionError extends SluiceError {
  readonly code = 'INVALID_OPTION';
  /** The option's path, for example `runConfig.maxLlmCalls`. */
  readonly option: string;

  constructor(option: string, expected: string, received: unknown, options?: ErrorOptions) {
    super(`Expected \`${option}\` to be ${expected}, got ${describe(received)}`, options);
    this.option = option;
  }
}

/** @throws {@link InvalidOptionError} where `fits` is false */
export function expectOption(fits: boolean, option: string, expected: string, received: unknown): asserts fits {
  if (!fits) throw new InvalidOptionError(option, expected, received);
}

/** The run was stopped by `runner.cancel(...)` without a reason of the caller's own. */
export class RunCancelledError extends SluiceError {
  readonly code = 'RUN_CANCELLED';

  constructor(message = 'The run was cancelled') {
    super(message);
  }
}

/** The runner is closed: it starts no run, and ended this one at its drain's deadline. */
export class RunnerClosedError extends SluiceError {
  readonly code = 'RUNNER_CLOSED';

  constructor(message = 'The runner is closed') {
    super(message);
  }
}

/** The run's own deadline, `runConfig.timeoutMs`, passed. */
export class RunTimeoutError extends SluiceError {
  readonly code = 'RUN_TIMEOUT';
  readonly timeoutMs: number;

  constructor(timeoutMs: number) {
    super(`The run did not end within ${timeoutMs} ms`);
    this.timeoutMs = timeoutMs;
  }
}

/** A tool's own deadline, `timeoutMs`, passed. It is the reason of the call's signal; the model is told, the run goes on. */
export class ToolTimeoutError extends SluiceError {
  readonly code = 'TOOL_TIMEOUT';
  readonly tool: string;
  readonly timeoutMs: number;

  constructor(tool: string, timeoutMs: number) {
    super(`The tool \`${tool}\` did not end within ${timeoutMs} ms`);
    this.tool = tool;
    this.timeoutMs = timeoutMs;
  }
}

/** The run has made `runConfig.maxLlmCalls` model calls and wanted one more. */
export class LlmCallsLimitExceededError extends SluiceError {
  readonly code = 'LLM_CALLS_LIMIT';
  readonly maxLlmCalls: number;

  constructor(maxLlmCalls: number) {
    super(`The run made ${maxLlmCalls} model calls, which is its limit (runConfig.maxLlmCalls)`);
    this.maxLlmCalls = maxLlmCalls;
  }
}

/** What is known about a failed model request. */
export interface ModelErrorDetails {
  /** The provider's own code, such as `RESOURCE_EXHAUSTED`, or one of ours: `IDLE_TIMEOUT`, `CONNECTION_LOST` ... */
  readonly code: string;
  /** The HTTP status, where there was an answer. */
  readonly status?: number | undefined;
  /** How long the provider asks to wait before the next try, in milliseconds. */
  readonly retryDelayMs?: number | undefined;
  /** The close code of the WebSocket, for a live connection that was closed. */
  readonly closeCode?: number | undefined;
  /** Whether the same may succeed if it is tried again. Default `false`. */
  readonly retryable?: boolean | undefined;
  readonly cause?: unknown;
}

/** A request to the model failed for good, and no hook answered for it. */
export class ModelError extends SluiceError {
  readonly code: string;
  readonly status: number | undefined;
  readonly retryDelayMs: number | undefined;
  readonly closeCode: number | undefined;
  readonly retryable: boolean;

  constructor(message: string, details: ModelErrorDetails) {
    super(message, 'cause' in details ? {cause: details.cause} : undefined);
    this.code = details.code;
    this.status = details.status;
    this.retryDelayMs = details.retryDelayMs;
    this.closeCode = details.closeCode;
    this.retryable = details.retryable ?? false;
  }
}

/** A callback of an agent threw. */
export class HookError extends SluiceError {
  readonly code = 'HOOK_FAILED';
  /** Which hook, for example `beforeModelCallback`. */
  readonly hook: string;

  constructor(hook: string, owner: string, cause: unknown) {
    super(`\`${hook}\` of \`${owner}\` threw: ${messageOf(cause)}`, {cause});
    this.hook = hook;
  }
}

/** The session does not exist, and `autoCreateSession` is off. */
export class SessionNotFoundError extends SluiceError {
  readonly code = 'SESSION_NOT_FOUND';
  readonly sessionId: string;

  constructor(key: {appName: string; userId: string; sessionId: string}) {
    super(`No session \`${key.sessionId}\` of user \`${key.userId}\` in app \`${key.appName}\``);
    this.sessionId = key.sessionId;
  }
}

/** A session with that id exists already. */
export class SessionExistsError extends SluiceError {
  readonly code = 'SESSION_EXISTS';
  readonly sessionId: string;

  constructor(sessionId: string) {
    super(`A session \`${sessionId}\` exists already`);
    this.sessionId = sessionId;
  }
}

/** Another run held the session for longer than `runConfig.sessionWaitMs`. */
export class SessionBusyError extends SluiceError {
  readonly code = 'SESSION_BUSY';
  /** The invocation id of the run that holds the session. */
  readonly holder: string;

  constructor(sessionId: string, holder: string, sessionWaitMs: number) {
    super(`Session \`${sessionId}\` is held by run \`${holder}\`; waited ${sessionWaitMs} ms`);
    this.holder = holder;
  }
}

/** A later run took the session over; what this run still had to store was refused. */
export class SessionConflictError extends SluiceError {
  readonly code = 'SESSION_CONFLICT';
  /** The Events that were not stored. */
  readonly events: readonly object[];

  constructor(sessionId: string, events: readonly object[]) {
    super(`Session \`${sessionId}\` was taken over by a later run; ${events.length} event(s) were not stored`);
    this.events = events;
  }
}

/** The reader of a live run did not keep up: what waits for it exceeds `runConfig.liveBufferBytes`. */
export class LiveOverflowError extends SluiceError {
  readonly code = 'LIVE_OVERFLOW';
  readonly liveBufferBytes: number;

  constructor(liveBufferBytes: number) {
    super(`More than ${liveBufferBytes} bytes of Events wait for the reader of the live run (runConfig.liveBufferBytes)`);
    this.liveBufferBytes = liveBufferBytes;
  }
}

/** A `LiveRequestQueue` cannot take what was sent: it is closed, or its run does not keep up. */
export class LiveRequestQueueError extends SluiceError {
  readonly code: 'LIVE_QUEUE_CLOSED' | 'LIVE_QUEUE_FULL';

  constructor(code: 'LIVE_QUEUE_CLOSED' | 'LIVE_QUEUE_FULL', message: string) {
    super(message);
    this.code = code;
  }
}

const CALL_PROBLEMS = {
  UNKNOWN_FUNCTION_CALL: 'waits for no answer in this session',
  FUNCTION_CALL_ANSWERED: 'has been answered already',
  FUNCTION_CALL_CHANGED: 'is not the one that the user was asked about',
  FUNCTION_NAME_MISMATCH: 'has another name than its answer',
  AGENT_NOT_FOUND: 'was made by an agent that is not in the tree',
} as const;

/** The new message answers a function call that nobody waits for, or that it does not fit. Nothing was stored. */
export class FunctionResponseError extends SluiceError {
  readonly code: keyof typeof CALL_PROBLEMS;
  readonly functionCallId: string;

  constructor(code: keyof typeof CALL_PROBLEMS, functionCallId: string) {
    super(`The function call \`${functionCallId}\` ${CALL_PROBLEMS[code]}`);
    this.code = code;
    this.functionCallId = functionCallId;
  }
}

/** The call that this context belonged to is over; what it does now would be lost. */
export class ContextRevokedError extends SluiceError {
  readonly code = 'CONTEXT_REVOKED';

  constructor(member: string) {
    super(`\`context.${member}\` was used after its call had ended`);
  }
}

/** What a thrown value says, whatever was thrown. Never a stack. */
export function messageOf(thrown: unknown): string {
  try {
    if (thrown instanceof Error) return thrown.message || thrown.name;
    if (typeof thrown === 'object' && thrown !== null && 'message' in thrown) return String(thrown.message);
    return String(thrown);
  } catch {
    return 'a value that cannot be shown';
  }
}

/** A received value in an error message: short, with its type. */
export function describe(value: unknown): string {
  if (value === null || value === undefined) return String(value);
  if (typeof value === 'function') return `function ${value.name || '(anonymous)'}`;
  if (typeof value === 'object') return Array.isArray(value) ? `an array of ${value.length}` : `an object (${constructorName(value)})`;
  const text = typeof value === 'string' ? JSON.stringify(value) : String(value);
  return `${text.length > 80 ? `${text.slice(0, 80)}...` : text} (${typeof value})`;
}

function constructorName(value: object): string {
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype === null) return 'Object';
  const name: unknown = value.constructor?.name;
  return typeof name === 'string' && name !== '' ? name : 'Object';
}
