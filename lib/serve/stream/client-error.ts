import {HookError, ModelError, RunCancelledError, SluiceError} from '../../errors.ts';
import type {RunOutcome} from '../../runner/run-outcome.ts';

/** What a client may know of an error: never a stack, a cause, or what code outside of Sluice has to say. */
export interface ClientError {
  /** Names the kind of failure; safe to compare in code. `INTERNAL` where nothing more may be said. */
  readonly code: string;
  readonly message: string;
  /** How long the model's provider asks to wait before the next try, in milliseconds, where it says so. */
  readonly retryDelayMs?: number;
  /** Whether the error says more than this: then it belongs in the server's log. */
  readonly hidden: boolean;
}

const INTERNAL: ClientError = {code: 'INTERNAL', message: 'internal error', hidden: true};

/**
 * The part of an error that a client may see. Sluice's own errors tell their code and their message, where that does not quote what others
 * say: code that threw may tell anything, and so does a model's provider, of accounts, addresses and keys.
 */
export function clientError(error: unknown): ClientError {
  if (!(error instanceof SluiceError)) return INTERNAL;
  if (error instanceof HookError) return {code: error.code, message: `\`${error.hook}\` failed`, hidden: true};
  if (!(error instanceof ModelError)) return {code: error.code, message: error.message, hidden: false};
  const {code, retryDelayMs} = error;
  return {code, message: modelFailure(error), ...(retryDelayMs !== undefined && {retryDelayMs}), hidden: true};
}

/** The end of a stream that failed, in JSON. ADK's clients show `error`, which must be a string then. */
export function failureJson({code, message, retryDelayMs}: ClientError): string {
  return JSON.stringify({error: message, code, retryDelayMs});
}

/** What kind of failure it is, in words of ours. A status says more than a code, which each provider has its own of. */
function modelFailure({code, status = STATUSES[code] ?? 0, retryable}: ModelError): string {
  if (status === 429) return 'The model takes no more requests at the moment';
  if (status === 401 || status === 403 || status === 404) return 'The server has no access to the model';
  if (retryable || status >= 500) return 'The model is not available at the moment';
  return status >= 400 ? 'The model refused the request' : 'The request to the model failed';
}

/** For failures without an answer over HTTP. */
const STATUSES: Readonly<Record<string, number>> = {
  RESOURCE_EXHAUSTED: 429,
  MISSING_API_KEY: 401,
  UNAUTHENTICATED: 401,
  PERMISSION_DENIED: 403,
  NOT_FOUND: 404,
  INVALID_ARGUMENT: 400,
  POLICY_VIOLATION: 400,
  UNAVAILABLE: 503,
};

/** What a client is told of the way in which a run has ended; `undefined` where it finished. */
export function failureOf(outcome: RunOutcome): ClientError | undefined {
  if (outcome.kind === 'done' || outcome.kind === 'waiting') return undefined;
  const failure = clientError(outcome.reason);
  // A stop is no failure of the server, whatever the reason that was given for it.
  const isStop = outcome.kind === 'return' || (outcome.kind === 'abort' && failure.hidden);
  return isStop ? clientError(new RunCancelledError()) : failure;
}

/** Tells the server's log what has ended a run. A stop is not told. */
export function reportFailure(error: unknown, onError: ((error: unknown) => void) | undefined): void {
  try {
    if (onError) onError(error);
    // oxlint-disable-next-line no-console -- the default of onError: what no client is told must be told somewhere
    else if (clientError(error).hidden) console.error('sluice: a run failed:', error);
  } catch {
    // The stream must not end differently because the log failed.
  }
}
