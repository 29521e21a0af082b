import type {IncomingMessage, ServerResponse} from 'node:http';
import {isFunction, checkOptions, optional} from '../schema/options.ts';
import {expectOption} from '../errors.ts';
import type {Host} from '../serve/handler.ts';
import {HttpProblem} from '../serve/http-problem.ts';
import {bodyOf} from './incoming-body.ts';
import {requestOf} from './incoming-request.ts';
import {clientLeft, sendResponse} from './outgoing-response.ts';

/** Answers requests on web standards: a `Handler`, or a function of your own. */
export type FetchHandler = (request: Request, host?: Host) => Promise<Response> | Response;

/** A listener for the event `request` of a server of Node's, and what Express takes as a middleware. */
export type NodeHandler = (incoming: IncomingMessage, outgoing: ServerResponse) => void;

/** Options of {@link toNodeHandler} and {@link toNodeUpgradeHandler}. */
export interface NodeHandlerOptions {
  /**
   * Told of a handler that threw, and of a body that failed after the response had begun. The client is told nothing but 500, or sees its
   * connection close. A client that leaves is no error. Default: `console.error`
   */
  readonly onError?: ((error: unknown) => void) | undefined;
}

/**
 * Makes a handler fit for a server of `node:http`, or for Express.
 *
 * A client that leaves aborts the `signal` of its request and cancels the body of the response, at any moment. A body is read on only
 * when the client has taken what was sent. Requests that a client sent ahead wait until those before them are answered. A request that
 * cannot be read (a malformed or second `Host`, say) is answered with 400 and never reaches the handler. What a client still sends after its answer
 * is thrown away up to 64 MiB, or 10 seconds, then its connection is closed.
 *
 * Unlike `listen`, it answers for any `Host`: which names a server of your own goes by is yours to check, on a loopback address too (DNS
 * rebinding).
 *
 * @throws InvalidOptionError
 * @example
 * ```ts
 * import {createServer} from 'node:http';
 * import {toNodeHandler} from 'sluice/node';
 *
 * const server = createServer(toNodeHandler((request) => new Response(`You asked for ${new URL(request.url).pathname}`)));
 * server.listen(8000, '127.0.0.1');
 * ```
 */
export function toNodeHandler(handler: FetchHandler, options: NodeHandlerOptions = {}): NodeHandler {
  expectOption(typeof handler === 'function', 'handler', 'a function', handler);
  const onError = errorListener('toNodeHandler', options);
  return (incoming, outgoing) => void new Exchange(handler, incoming, onError).answer(outgoing);
}

/** The listener for errors that the options name. @throws InvalidOptionError */
export function errorListener(owner: string, options: NodeHandlerOptions): (error: unknown) => void {
  checkOptions(owner, options, {onError: optional(isFunction)});
  // oxlint-disable-next-line no-console -- what it is for: an error that nobody else can be told.
  return options.onError ?? ((error) => console.error(error));
}

// A `Request` of Node's passes its signal on only until it is collected, and whoever listens to the signal does not keep it.
const requests = new WeakMap<IncomingMessage, Request>();

/** A request on its way to a handler. */
export class Exchange {
  readonly #handler: FetchHandler;
  readonly #incoming: IncomingMessage;
  readonly #onError: (error: unknown) => void;
  readonly #client = new AbortController();

  constructor(handler: FetchHandler, incoming: IncomingMessage, onError: (error: unknown) => void) {
    this.#handler = handler;
    this.#incoming = incoming;
    this.#onError = onError;
  }

  /** The client is gone. */
  leave(): void {
    this.#client.abort(clientLeft());
  }

  /**
   * Asks the handler, and sends what it says. Never rejects.
   *
   * @param onRead - called when the handler first reads the body
   */
  async answer(outgoing: ServerResponse, onRead?: () => void): Promise<void> {
    // It has no socket before the requests that came before are answered.
    if (!outgoing.socket) await new Promise((resolve) => outgoing.once('socket', resolve));
    const body = bodyOf(this.#incoming, onRead);
    // Before Node's own listener, which would throw it away without an end.
    outgoing.prependOnceListener('finish', () => body.discard());
    outgoing.once('close', () => {
      if (!outgoing.writableFinished) this.leave();
    });
    await this.send(await this.ask(body.stream), outgoing);
  }

  /** The handler's response, or one that says why there is none. */
  async ask(body: ReadableStream<Uint8Array<ArrayBuffer>> | null, host?: Host): Promise<Response> {
    try {
      const request = requestOf(this.#incoming, body, this.#client.signal);
      requests.set(this.#incoming, request);
      return await this.#handler(request, host);
    } catch (error) {
      if (error instanceof HttpProblem) return error.toResponse();
      if (!this.#client.signal.aborted) this.#onError(error);
      return new HttpProblem(500, 'INTERNAL', 'internal error').toResponse();
    }
  }

  async send(response: Response, outgoing: ServerResponse): Promise<void> {
    try {
      await sendResponse(response, outgoing);
    } catch (error) {
      if (!outgoing.destroyed) this.#onError(error);
      void response.body?.cancel(error).catch(() => {});
      // What was sent is not whole: only a connection that breaks tells that.
      if (outgoing.headersSent) outgoing.destroy();
      else outgoing.writeHead(500).end();
    }
  }
}
