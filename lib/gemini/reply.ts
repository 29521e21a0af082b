import type {GenerateContentResponse} from '@google/genai';

import {ModelError} from '../errors.ts';
import type {LlmResponse} from '../models/llm-response.ts';
import type {CallLifetime} from './call-lifetime.ts';
import {ReplyAssembler} from './from-genai.ts';
import {failureOf} from './gemini-errors.ts';
import type {CallLimits} from './gemini-options.ts';
import type {Deadline} from './read-clock.ts';

/** What genai makes of one HTTP answer. */
export type Chunks = AsyncIterator<GenerateContentResponse, unknown, undefined>;

/** Sends the request of a call. It is called again for each attempt, with the signal of that HTTP request. */
export type SendRequest = (signal: AbortSignal) => Promise<Chunks>;

/** The reply to one model call, streamed or not, read as far as its reader asks. */
export class Reply {
  readonly #send: SendRequest;
  readonly #stream: boolean;
  readonly #limits: CallLimits;
  readonly #lifetime: CallLifetime;
  readonly #idle: Deadline;
  #assembler = new ReplyAssembler();
  #chunks: Chunks | undefined;

  constructor(send: SendRequest, stream: boolean, limits: CallLimits, lifetime: CallLifetime) {
    this.#send = send;
    this.#stream = stream;
    this.#limits = limits;
    this.#lifetime = lifetime;
    this.#idle = {ms: limits.idleMs, code: 'IDLE_TIMEOUT'};
  }

  /**
   * Sends the request, and sends it again after a passing failure, until there is content or the reply is whole: once the reader has seen
   * something it is never sent again.
   */
  async open(): Promise<LlmResponse | undefined> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await this.#attempt();
      } catch (thrown) {
        this.#lifetime.throwIfEnded();
        const error = failureOf(thrown);
        const worthIt = error.retryable && (error.retryDelayMs ?? 0) <= maxBackOffMs;
        if (!worthIt || attempt >= this.#limits.attempts) throw error;
        this.#lifetime.renew();
        await this.#backOff(attempt, error);
      }
    }
  }

  /** The partial response of the next chunk that has content; nothing when the reply is whole. */
  async next(): Promise<LlmResponse | undefined> {
    try {
      return await this.#advance(await this.#read());
    } catch (thrown) {
      this.#lifetime.throwIfEnded();
      throw failureOf(thrown);
    }
  }

  /** Everything that came, as one response. */
  whole(): LlmResponse {
    return this.#assembler.whole();
  }

  async #attempt(): Promise<LlmResponse | undefined> {
    this.#assembler = new ReplyAssembler();
    // What is not streamed has no chunks to wait for: only the call's total counts.
    const ms = this.#stream ? this.#limits.firstChunkMs : Infinity;
    return this.#advance(await this.#lifetime.wait(this.#firstChunk(), {ms, code: 'FIRST_CHUNK_TIMEOUT'}));
  }

  async #firstChunk(): Promise<IteratorResult<GenerateContentResponse, unknown>> {
    const chunks = await this.#send(this.#lifetime.signal);
    this.#chunks = chunks;
    return chunks.next();
  }

  async #advance(read: IteratorResult<GenerateContentResponse, unknown>): Promise<LlmResponse | undefined> {
    for (let result = read; !result.done; result = await this.#read()) {
      const partial = this.#assembler.add(result.value);
      if (partial !== undefined) return partial;
    }
    this.#checkWhole();
    return undefined;
  }

  async #read(): Promise<IteratorResult<GenerateContentResponse, unknown>> {
    const chunks = this.#chunks;
    return chunks === undefined ? {done: true, value: undefined} : this.#lifetime.wait(chunks.next(), this.#idle);
  }

  #checkWhole(): void {
    if (this.#stream && !this.#assembler.finished) {
      const message = 'The stream ended without a finish reason: the answer is not complete';
      throw new ModelError(message, {code: 'STREAM_INCOMPLETE', retryable: true});
    }
    if (!this.#assembler.answered) {
      const message = 'The answer holds neither a candidate nor a reason why there is none';
      throw new ModelError(message, {code: 'EMPTY_RESPONSE', retryable: true});
    }
  }

  /** Throws the failure that led here if the call has no time left to wait so long. */
  async #backOff(attempt: number, failure: ModelError): Promise<void> {
    const jitter = 0.75 + Math.random() / 2;
    const ms = Math.min(this.#limits.retryDelayMs * 2 ** (attempt - 1) * jitter, maxBackOffMs);
    if (!(await this.#lifetime.sleep(Math.max(ms, failure.retryDelayMs ?? 0)))) throw failure;
  }
}

/** Longer waits than this are not made; the caller is told instead. */
const maxBackOffMs = 30_000;
