import {runTag, type StreamedEvent, type StreamEnd} from './run-source.ts';

/** Writes the Events of one response. */
export interface StreamEncoder {
  readonly headers: Readonly<Record<string, string>>;
  /** Shows that the connection lives; readers of the format skip it. */
  readonly heartbeat: string;
  /** What an Event is written as; `''` where the format has nothing to say of it. */
  event(streamed: StreamedEvent): string;
  /** The last words of the stream, often none. */
  end(end: StreamEnd): string;
}

/** The id of the message that tells how a run has failed: whoever brings it back has seen all of that run. */
export function endId(invocationId: string): string {
  return `:end-${runTag(invocationId)}`;
}
