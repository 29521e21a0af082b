import type {UsageMetadata} from '../../content.ts';

/** How a reply ended, in the words of the AI SDK. */
export type UIFinishReason = 'stop' | 'length' | 'content-filter' | 'tool-calls' | 'error' | 'other';

/** The metadata of the message that `useChat` makes of a run. */
export interface UIMessageMetadata {
  /** The run's id: what a stop route needs. */
  readonly invocationId?: string;
  /** The tokens of the whole run; there at its end. */
  readonly usage?: UsageMetadata;
  /** What ended the run before its time. */
  readonly error?: {readonly code: string; readonly message: string; readonly retryDelayMs?: number};
}

/** The data of a `data-waiting` part: a call whose answer comes with a later message, by `addToolOutput`. */
export interface WaitingCall {
  readonly toolCallId: string;
  readonly toolName: string;
  /** What the tool has said so far. */
  readonly output: unknown;
}

/** The messages of the AI SDK's UI message stream that a run is made of. */
export type UIMessageChunk =
  | {type: 'start'; messageId: string; messageMetadata: UIMessageMetadata}
  | {type: 'start-step' | 'finish-step' | 'reset-step'}
  | {type: 'text-start' | 'text-end' | 'reasoning-start' | 'reasoning-end'; id: string}
  | {type: 'text-delta' | 'reasoning-delta'; id: string; delta: string}
  | {type: 'tool-input-start'; toolCallId: string; toolName: string; providerExecuted?: true}
  | {type: 'tool-input-available'; toolCallId: string; toolName: string; input: unknown; providerExecuted?: true}
  | {type: 'tool-output-available'; toolCallId: string; output: unknown; providerExecuted?: true; preliminary?: true}
  | {type: 'tool-output-error'; toolCallId: string; errorText: string; providerExecuted?: true}
  | {type: 'tool-approval-request'; approvalId: string; toolCallId: string}
  | {type: 'file' | 'reasoning-file'; url: string; mediaType: string}
  | {type: 'source-url'; sourceId: string; url: string; title?: string}
  | {type: 'data-waiting'; id: string; data: WaitingCall}
  | {type: 'data-part'; data: unknown}
  | {type: 'message-metadata'; messageMetadata: UIMessageMetadata}
  | {type: 'error'; errorText: string}
  | {type: 'abort'; reason: string}
  | {type: 'finish'; finishReason: UIFinishReason; messageMetadata: UIMessageMetadata};
