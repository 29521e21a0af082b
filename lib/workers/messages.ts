import type {MessagePort} from 'node:worker_threads';

/** A value of an `AsyncLocalStorage`, and where a thread finds its own instance of that storage. */
export interface StoredValue {
  readonly module: string;
  readonly export: string;
  readonly value: unknown;
}

/** What a body and its context are made of, in its thread. */
export interface Task {
  readonly tool: string;
  readonly module: string;
  readonly export: string;
  readonly args: Readonly<Record<string, unknown>>;
  readonly state: Readonly<Record<string, unknown>>;
  readonly ids: TaskIds;
  readonly stored: readonly StoredValue[];
  /** OpenTelemetry's context, as its propagator writes it. */
  readonly telemetry: Readonly<Record<string, string>> | undefined;
}

/** What a context says of its call, beyond the end of it. */
export interface TaskIds {
  readonly invocationId: string;
  readonly agentName: string;
  readonly userId: string;
  readonly sessionId: string;
  readonly appName: string;
  readonly functionCallId: string | undefined;
}

/** What a thread is started with. */
export interface ThreadData {
  /** To the pool. */
  readonly pool: MessagePort;
}

/** From the pool to a thread. The thread answers `ask`, as it tells that it has started, with a message of its own: that it is ready. */
export type ToThread =
  | {readonly kind: 'ask'}
  | {
      readonly kind: 'run';
      readonly task: Task;
      /** For this call alone. */
      readonly port: MessagePort;
    };

/** From the pool to the call that a thread runs. */
export type ToCall =
  | {readonly kind: 'abort'; readonly reason: unknown}
  /** The generator's reader wants the next value, or has left. */
  | {readonly kind: 'next' | 'return'};

/** From the call to the pool. */
export type FromCall =
  | {readonly kind: 'acknowledged' | 'generator'}
  | {readonly kind: 'yielded'; readonly value: unknown}
  /** The result, to be written as JSON; nothing where the body gave `undefined` or `null`. */
  | {readonly kind: 'returned'; readonly value: unknown}
  | {readonly kind: 'threw'; readonly error: unknown; readonly details: ErrorDetails};

/** What a clone of an error loses. */
export interface ErrorDetails {
  readonly name?: string;
  readonly code?: string | number;
}
