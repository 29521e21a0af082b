import type {BaseLlmConnection} from '../../models/base-llm-connection.ts';
import type {LlmRequest} from '../../models/llm-request.ts';
import {failureOf} from '../gemini-errors.ts';
import {type GeminiOptions, liveLimits} from '../gemini-options.ts';
import {type GeminiTarget, targetOf} from '../gemini-target.ts';
import {ConnectAttempt} from './connect-attempt.ts';
import {GeminiLiveConnection, type GeminiLiveSession} from './gemini-live-connection.ts';
import {liveUrl, modelResource} from './live-endpoint.ts';
import {LiveLogin} from './live-login.ts';
import {LiveTrace, redactor} from './live-trace.ts';
import {setupMessage, takesHistoryFirst} from './setup-message.ts';

/**
 * The live connections of one `Gemini` object. They speak the Live API's protocol over `ws` and not over genai's client, which neither an
 * abort nor a deadline ends.
 */
export class GeminiLive {
  readonly #options: GeminiOptions;
  readonly #login = new LiveLogin();
  #connections = 0;

  constructor(options: GeminiOptions) {
    this.#options = options;
  }

  async connect(llmRequest: LlmRequest, abortSignal: AbortSignal | undefined): Promise<BaseLlmConnection> {
    abortSignal?.throwIfAborted();
    const attempt = new ConnectAttempt(abortSignal, liveLimits(this.#options).connectMs);
    let connection: GeminiLiveConnection | undefined;
    try {
      const target = targetOf(withRequest(this.#options, llmRequest));
      const url = liveUrl(target);
      const headers = await attempt.wait(this.#login.headers(target, url));
      const session = this.#session(llmRequest, target, secretsOf(target, url, headers));
      const {WebSocket} = await attempt.wait(import('ws'));
      connection = new GeminiLiveConnection(new WebSocket(url, {...wsOptions, headers: Object.fromEntries(headers)}), session);
      await attempt.wait(connection.ready);
      attempt.throwIfEnded();
      return connection;
    } catch (error) {
      void connection?.close();
      attempt.throwIfEnded();
      throw failureOf(error);
    } finally {
      attempt.close();
    }
  }

  #session(llmRequest: LlmRequest, target: GeminiTarget, secrets: readonly string[]): GeminiLiveSession {
    this.#connections += 1;
    const model = modelResource(llmRequest.model ?? this.#options.model, target);
    const redact = redactor(secrets);
    return {
      setup: JSON.stringify(setupMessage(llmRequest, model, target.vertexai)),
      vertexai: target.vertexai,
      historyFirst: takesHistoryFirst(llmRequest),
      idleMs: liveLimits(this.#options).idleMs,
      trace: new LiveTrace(this.#options.onLiveFrame, this.#connections, redact),
      redact,
    };
  }
}

const wsOptions = {
  // Most of what is sent is sound in small messages: compressing them costs more time than it saves.
  perMessageDeflate: false,
  // How long a server that has closed may keep the socket: until then nobody is told that it has.
  closeTimeout: 1_000,
};

/** The options with what the request's own HTTP options override. */
function withRequest(options: GeminiOptions, {config, liveConnectConfig}: LlmRequest): GeminiOptions {
  const request = {...config.httpOptions, ...liveConnectConfig?.httpOptions};
  const headers = {...options.httpOptions?.headers, ...config.httpOptions?.headers, ...liveConnectConfig?.httpOptions?.headers};
  return {...options, apiVersion: request.apiVersion ?? options.apiVersion, httpOptions: {...options.httpOptions, ...request, headers}};
}

/** What must not be told: keys and tokens, also those that the caller has put into headers or the base URL himself. */
function secretsOf({apiKey}: GeminiTarget, {password}: URL, headers: Headers): string[] {
  const token = headers.get('authorization')?.replace(/^\S+\s+/, '');
  const secrets = [apiKey, token, headers.get('x-goog-api-key'), password];
  return secrets.filter((secret) => typeof secret === 'string');
}
