import {HookError, ModelError, RunCancelledError, SluiceError} from '../../errors.ts';
import type {RunOutcome} from '../../runner/run-outcome.ts';

/** What a client may know of an error: never a stack, a cause, or what code outside of Sluice has to say. */
export interface ClientError {
  /** Names the kind of failure; safe to compare in code. `INTERNAL` where nothing more may be said. */
  readonly code: string;
  readonly message: string;
  /** Whether the error says more than this: then it belongs in the server's log. */
  readonly hidden: boolean;
}

const INTERNAL: ClientError = {code: 'INTERNAL', message: 'internal error', hidden: true};

/**
 * The part of an error that a client may see. Sluice's own errors tell their code and their message, where that does not quote what other
 * code threw: that may tell anything.
 */
export function clientError(error: unknown): ClientError {
  if (!(error instanceof SluiceError)) return INTERNAL;
  if (error instanceof HookError) return {code: error.code, message: `\`${error.hook}\` failed`, hidden: true};
  // With a status it says what the provider has answered, without one what a library or a socket threw.
  if (error instanceof ModelError && error.cause !== undefined && error.status === undefined)
    return {code: error.code, message: 'The request to the model failed', hidden: true};
  return {code: error.code, message: error.message, hidden: false};
}

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
