import type {Blob, Content} from '../content.ts';
import type {LlmResponse} from './llm-response.ts';

/** What is streamed to a model while it happens, one of these at a time. */
export interface RealtimeInput {
  /** Sound, such as `{mimeType: 'audio/pcm;rate=16000', data}`, with `data` in base64. */
  readonly audio?: Blob;
  /** A picture of a video. */
  readonly video?: Blob;
  readonly text?: string;
  /** The user begins to speak; only where the model was told not to find that out by itself. */
  readonly activityStart?: Readonly<Record<string, never>>;
  /** The user has finished speaking. */
  readonly activityEnd?: Readonly<Record<string, never>>;
  /** The microphone was turned off. */
  readonly audioStreamEnd?: boolean;
}

/**
 * A live connection to a model, as `BaseLlm.connect` gives it. It can be sent to, iterated, and closed.
 *
 * Every send resolves when the connection has taken the message, and rejects with a {@link ModelError} where the connection is closed:
 * nothing is lost in silence.
 */
export abstract class BaseLlmConnection implements AsyncDisposable {
  /** Tells the model what was said before, without asking for a reply. Text only. */
  abstract sendHistory(history: readonly Content[]): Promise<void>;

  /** Says something as a turn of the user, which asks for a reply; or, where all parts are `functionResponse`s, answers calls. */
  abstract sendContent(content: Content): Promise<void>;

  /** Streams sound, pictures or text, without a turn's begin and end. */
  abstract sendRealtime(input: RealtimeInput): Promise<void>;

  /**
   * What the model sends, one response for each message that says anything, from the first message on, whenever it is read. A response
   * holds pieces of content, all calls of a message in order, signals, or several of these. May be called once.
   *
   * Ends when `close` was called.
   *
   * @throws {@link ModelError} where the connection is lost or the model ended it; `retryable` says whether a new one may work
   */
  abstract receive(): AsyncGenerator<LlmResponse, void, undefined>;

  /** Closes the connection at once, without waiting for the peer. Resolves when the socket is gone. Idempotent, and never rejects. */
  abstract close(): Promise<void>;

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}
