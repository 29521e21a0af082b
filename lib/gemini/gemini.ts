import type {GenerateContentParameters, GenerateContentResponse} from '@google/genai';

import type {BaseLlmConnection} from '../models/base-llm-connection.ts';
import {BaseLlm} from '../models/base-llm.ts';
import {geminiModelNames} from '../models/gemini-model-names.ts';
import type {LlmRequest} from '../models/llm-request.ts';
import type {LlmResponse} from '../models/llm-response.ts';
import {CallLifetime} from './call-lifetime.ts';
import {ContextCache} from './context-cache.ts';
import {type GeminiClient, loadGeminiClient} from './gemini-client.ts';
import {callLimits, checkGeminiOptions, type GeminiOptions} from './gemini-options.ts';
import {GeminiLive} from './live/gemini-live.ts';
import {type Chunks, Reply} from './reply.ts';
import {toGenai} from './to-genai.ts';

/**
 * Gemini models on the Gemini API or Vertex AI: over `@google/genai`, which is loaded at the first call, and only the part of it that the
 * login needs; and over WebSockets, for live runs.
 *
 * Every call has finite deadlines, is tried again after a passing failure as long as nothing was yielded, and closes its socket whenever it
 * ends: on an abort it rejects with the signal's own reason, on an early return (`break`) it just ends.
 *
 * @example
 * ```ts
 * import {LlmAgent} from 'sluice';
 * import {Gemini} from 'sluice/gemini';
 *
 * const model = new Gemini({model: 'gemini-2.5-flash', apiKey: 'KEY', idleMs: 30_000});
 * const agent = new LlmAgent({name: 'helper', model});
 * ```
 */
export class Gemini extends BaseLlm {
  static override readonly supportedModels: readonly (string | RegExp)[] = geminiModelNames;

  readonly #options: GeminiOptions;
  readonly #live: GeminiLive;
  readonly #cache: ContextCache | undefined;
  #client: Promise<GeminiClient> | undefined;

  /** @throws {@link InvalidOptionError} on an unknown option or one of the wrong type; a missing login is found at the first call */
  constructor(options: GeminiOptions) {
    checkGeminiOptions(options);
    super({model: options.model});
    this.#options = {...options};
    this.#live = new GeminiLive(this.#options);
    if (options.contextCache) this.#cache = new ContextCache(options.contextCache);
  }

  /**
   * Makes one call. With `stream` it yields a partial response for each chunk that has content, its parts as they came, then one whole
   * response; without, the whole one only. While Vertex AI streams a call's arguments, partial responses hold its fragments: only the first
   * has a `name`. A reply that was blocked, cut or not usable has an `errorCode`.
   *
   * @param llmRequest - is not changed
   * @throws {@link ModelError} with the server's own status name as `code`, or `MISSING_API_KEY`, `FIRST_CHUNK_TIMEOUT`, `IDLE_TIMEOUT`,
   *   `TOTAL_TIMEOUT`, `CONNECTION_LOST`, `PROTOCOL_ERROR`, `STREAM_INCOMPLETE`, `EMPTY_RESPONSE`, `REQUEST_FAILED`
   */
  async *generateContentAsync(
    llmRequest: LlmRequest,
    stream = false,
    abortSignal?: AbortSignal,
  ): AsyncGenerator<LlmResponse, void, undefined> {
    abortSignal?.throwIfAborted();
    const limits = callLimits(this.#options, llmRequest.config.httpOptions);
    const lifetime = new CallLifetime(abortSignal, limits.totalMs);
    let whole: LlmResponse;
    try {
      const reply = new Reply((signal) => this.#send(llmRequest, stream, signal), stream, limits, lifetime);
      for (let partial = await reply.open(); partial !== undefined; partial = await reply.next()) {
        if (stream) yield partial;
      }
      whole = reply.whole();
    } finally {
      // genai closes its socket on nothing but an abort: not on `break`, not on an error.
      lifetime.close();
    }
    yield whole;
  }

  /**
   * Opens a connection to the Live API, over a WebSocket of `ws`, which is loaded then. Resolves when the server has taken the setup. What a
   * connection sends and receives can be watched with `onLiveFrame`.
   *
   * An abort, at whatever stage, rejects at once with the signal's own reason and closes the socket.
   *
   * @param llmRequest - is not changed; its `contents` are not sent
   * @throws {@link ModelError} with the server's own status name as `code` where the handshake is refused, `INVALID_ARGUMENT` (1007),
   *   `POLICY_VIOLATION` (1008), `INTERNAL` (1011) or `CLOSED_<closeCode>` where the setup is; or `MISSING_API_KEY`, `CONNECT_TIMEOUT`,
   *   `CONNECTION_LOST`, `PROTOCOL_ERROR`, `REQUEST_FAILED`
   *
   * @example
   * ```ts
   * import {Gemini} from 'sluice/gemini';
   *
   * const model = new Gemini({model: 'gemini-live-2.5-flash-preview', onLiveFrame: ({direction, data}) => console.log(direction, data)});
   * await using connection = await model.connect({contents: [], config: {systemInstruction: 'Answer briefly.'}});
   * await connection.sendContent({role: 'user', parts: [{text: 'Good morning!'}]});
   * for await (const {content, turnComplete} of connection.receive()) {
   *   console.log(content?.parts);
   *   if (turnComplete) break;
   * }
   * ```
   */
  override connect(
    llmRequest: LlmRequest,
    {abortSignal}: {readonly abortSignal?: AbortSignal | undefined} = {},
  ): Promise<BaseLlmConnection> {
    return this.#live.connect(llmRequest, abortSignal);
  }

  /**
   * Deletes what `contextCache` has left on the server, for example when a conversation is over. Nothing else does before its time is up.
   *
   * @throws the signal's own reason on an abort; what cannot be deleted is left to its time
   */
  async deleteContextCaches({abortSignal}: {readonly abortSignal?: AbortSignal | undefined} = {}): Promise<void> {
    abortSignal?.throwIfAborted();
    if (this.#cache && this.#client) await this.#cache.clear((await this.#client).caches, abortSignal);
  }

  async #send(llmRequest: LlmRequest, stream: boolean, signal: AbortSignal): Promise<Chunks> {
    this.#client ??= loadGeminiClient(this.#options);
    const {models, caches, vertexai} = await this.#client.catch((error: unknown) => {
      // The next call looks again: the environment may be complete by then.
      this.#client = undefined;
      throw error;
    });
    signal.throwIfAborted();
    const request = toGenai(llmRequest, this.model, vertexai, signal);
    const ask = async (it: GenerateContentParameters): Promise<Chunks> =>
      stream ? models.generateContentStream(it) : oneChunk(await models.generateContent(it));
    return this.#cache ? this.#cache.send(request, caches, ask) : ask(request);
  }
}

async function* oneChunk(response: GenerateContentResponse): AsyncGenerator<GenerateContentResponse, void, undefined> {
  yield response;
}
