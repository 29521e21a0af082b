import {failureJson} from './client-error.ts';
import {endId, type StreamEncoder} from './stream-encoder.ts';
import {UIMessageEncoder} from './ui-message-encoder.ts';

/**
 * How a run is written:
 * - `'sse'`: server-sent events, one per Event, as ADK's `/run_sse` does it; those of a feed have an `id:`;
 * - `'ndjson'`: a line of JSON per Event;
 * - `'ui-message-stream'`: the protocol that `useChat` of the AI SDK reads.
 */
export type StreamFormat = 'sse' | 'ndjson' | 'ui-message-stream';

const NDJSON: StreamEncoder = {
  headers: {'content-type': 'application/x-ndjson'},
  heartbeat: '\n',
  event: ({json}) => `${json}\n`,
  end: ({failure}) => (failure ? `${failureJson(failure)}\n` : ''),
};

/** What a writer of one format has to know. */
export interface EncoderOptions {
  readonly invocationId: string;
  /** Of the message that a UI message stream makes or goes on with. */
  readonly messageId: string | undefined;
  /** Whether a client can come back with the id of what it has seen. */
  readonly canResume: boolean;
}

export function encoderFor(format: StreamFormat, {invocationId, messageId = invocationId, canResume}: EncoderOptions): StreamEncoder {
  if (format === 'ui-message-stream') return new UIMessageEncoder({invocationId, messageId});
  return format === 'sse' ? sse(canResume ? invocationId : undefined) : NDJSON;
}

/** Ids only where they are of use: ADK's own client takes a message with one for no message at all. */
function sse(resumable: string | undefined): StreamEncoder {
  const idLine = (id: string): string => (resumable === undefined ? '' : `id: ${id}\n`);
  return {
    headers: {'content-type': 'text/event-stream'},
    heartbeat: ': heartbeat\n\n',
    event: ({id, json}) => `${idLine(id)}data: ${json}\n\n`,
    end: ({failure}) => (failure ? `${idLine(endId(resumable ?? ''))}data: ${failureJson(failure)}\n\n` : ''),
  };
}
