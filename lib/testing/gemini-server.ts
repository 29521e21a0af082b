import type {IncomingMessage} from 'node:http';
import {InvalidOptionError, messageOf} from '../errors.ts';
import type {Exchange} from './exchange.ts';
import {deliver} from './gemini-server-delivery.ts';
import {frame} from './gemini-server-framing.ts';
import {refusalOf} from './gemini-server-refusals.ts';
import {failure, raw, type GeminiReply, type GeminiReplySource} from './gemini-server-replies.ts';
import {readRequest, type GeminiRequest} from './gemini-server-request.ts';
import {Loopback, readBody} from './loopback.ts';
import {RequestLog} from './request-log.ts';

/** What a `GeminiServer` starts with, and how strict it is. */
export interface GeminiServerOptions {
  /** The one API key that is valid. Default: any key is, but there must be one. */
  readonly apiKey?: string | undefined;
  /** The first answers, one per request that is not refused. Default: none; `reply` adds more. */
  readonly replies?: readonly GeminiReplySource[] | undefined;
  /**
   * Whether a body that Google would refuse is refused, in Google's words: unknown fields, empty contents and parts, calls without their
   * responses, thought signatures that got lost. Default: `true`.
   */
  readonly strict?: boolean | undefined;
}

/**
 * A Gemini server on a free port of this machine. It speaks the real protocol of `generateContent` and `streamGenerateContent`, of the
 * Gemini API and of Vertex, byte for byte, and watches its sockets, so that a test sees what a stop really ended.
 *
 * Each request that it does not refuse takes the next reply; one without a reply is answered by a 400 that says so.
 *
 * @example
 * ```ts
 * import {Gemini} from 'sluice/gemini';
 * import {GeminiServer, answer, calls, chunks} from 'sluice/testing';
 *
 * await using server = await GeminiServer.start();
 * server.reply(
 *   calls([{name: 'get_weather', args: {city: 'Paris'}}]),
 *   answer('It rains in Paris.'),
 *   chunks(['It', ' rains'], {fault: {kind: 'stall', after: 1}}),
 * );
 * const model = new Gemini({model: 'gemini-2.5-flash', apiKey: 'test', httpOptions: {baseUrl: server.url}});
 * for await (const response of model.generateContentAsync({contents: [{role: 'user', parts: [{text: 'Weather?'}]}], config: {}}, true)) {
 *   console.log(response.content);
 * }
 * console.log(await server.requests[0]?.closed);
 * ```
 */
export class GeminiServer implements AsyncDisposable {
  readonly #apiKey: string | undefined;
  readonly #strict: boolean;
  readonly #replies: GeminiReplySource[];
  readonly #log = new RequestLog<GeminiRequest>();
  readonly #loopback = new Loopback((incoming, exchange) => this.#answer(incoming, exchange));

  private constructor({apiKey, replies = [], strict = true}: GeminiServerOptions) {
    if (!Array.isArray(replies)) throw new InvalidOptionError('replies', 'an array of replies', replies);
    this.#apiKey = apiKey;
    this.#strict = strict;
    this.#replies = [...(replies as readonly GeminiReplySource[])];
  }

  /** Starts a server. */
  static async start(options: GeminiServerOptions = {}): Promise<GeminiServer> {
    const server = new GeminiServer(options);
    await server.#loopback.listen();
    return server;
  }

  /** The base URL for a client, without a slash at the end. */
  get url(): string {
    return this.#loopback.url;
  }

  /** Every request so far, refused ones included, in the order in which they were complete. */
  get requests(): readonly GeminiRequest[] {
    return this.#log.all;
  }

  /** How many replies no request has taken yet. */
  get unusedReplies(): number {
    return this.#replies.length;
  }

  /** Adds answers to the queue. */
  reply(...replies: readonly GeminiReplySource[]): void {
    this.#replies.push(...replies);
  }

  /** The first request that no earlier `nextRequest()` got, at once or when it comes. Rejects if the server is closed before. */
  nextRequest(): Promise<GeminiRequest> {
    return this.#log.next();
  }

  /** Ends every connection and stops listening. */
  async close(): Promise<void> {
    this.#log.close();
    await this.#loopback.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #answer(incoming: IncomingMessage, exchange: Exchange): Promise<void> {
    const request = readRequest(incoming, exchange, await readBody(incoming));
    request.index = this.#log.all.length;
    const refusal = request.action === '' ? undefined : refusalOf(request, {apiKey: this.#apiKey, strict: this.#strict});
    request.refusal = refusal?.message;
    this.#log.add(request);
    const reply = refusal ? failure(refusal) : await this.#replyTo(request);
    try {
      await deliver(frame(reply, request), reply.options, exchange);
    } catch (error) {
      // A source of chunks that throws breaks the answer off, as a server's crash would.
      exchange.own();
      throw error;
    }
  }

  async #replyTo(request: GeminiRequest): Promise<GeminiReply> {
    if (request.action === '' || request.method !== 'POST') {
      return raw('<!DOCTYPE html>\n<html lang=en>\n  <title>Error 404 (Not Found)!!1</title>\n', {
        status: 404,
        headers: {'content-type': 'text/html; charset=UTF-8'},
      });
    }
    const source = this.#replies.shift();
    if (!source)
      return failure({code: 400, status: 'FAILED_PRECONDITION', message: `GeminiServer has no reply for request ${request.index}`});
    if (typeof source !== 'function') return source;
    try {
      return await source(request);
    } catch (error) {
      const message = `The reply function for request ${request.index} threw: ${messageOf(error)}`;
      return failure({code: 400, status: 'FAILED_PRECONDITION', message});
    }
  }
}
