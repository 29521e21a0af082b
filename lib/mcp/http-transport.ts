import type {StreamableHTTPClientTransport} from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type {Transport, TransportSendOptions} from '@modelcontextprotocol/sdk/shared/transport.js';
import type {JSONRPCMessage, RequestId} from '@modelcontextprotocol/sdk/types.js';
import {Timers} from '../async/timers.ts';
import {within} from '../async/within.ts';
import type {StreamableHTTPConnectionParams} from './connection-params.ts';
import {answeredIdOf, cancelledIdOf, CONNECTION_CLOSED, NO_ANSWER, requestIdOf} from './message-ids.ts';

/** How long the server may take to end the session, in milliseconds. */
const PATIENCE_MS = 300;

/** A request that is not answered yet. */
interface OpenRequest {
  /** Closes its HTTP exchange. */
  readonly stop: AbortController;
  /** Lets go of the signal of the whole transport. */
  unlink?: () => void;
  /** Its answer comes as a stream, which goes on when `send` is done. */
  isStreamed?: boolean;
  /** The id of the last event of its stream: where that ends too early, the SDK asks for what came after this one. */
  lastEventId?: string;
  /** Its stream has ended too early. */
  isBroken?: boolean;
}

type Inner = typeof StreamableHTTPClientTransport;

/**
 * The SDK's transport for streamable HTTP, such that every request settles: one whose exchange ends without an answer is answered here, with
 * an error, and the exchange of one that is cancelled is closed.
 */
export class HttpTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;
  readonly #inner: StreamableHTTPClientTransport;
  readonly #terminates: boolean;
  readonly #fetch: (url: string | URL, init?: RequestInit) => Promise<Response>;
  readonly #open = new Map<RequestId, OpenRequest>();
  #closed: Promise<void> | undefined;

  constructor(inner: Inner, {url, header, transportOptions, terminateOnClose = true}: StreamableHTTPConnectionParams) {
    const options = transportOptions ?? (header && {requestInit: {headers: header as Record<string, string>}});
    this.#fetch = transportOptions?.fetch ?? fetch;
    this.#terminates = terminateOnClose;
    const fetchWatched = (to: string | URL, init?: RequestInit): Promise<Response> => this.#fetchWatched(to, init);
    this.#inner = new inner(new URL(url), {...options, fetch: fetchWatched} as ConstructorParameters<Inner>[1]);
    Object.assign(this.#inner, {
      onclose: () => this.onclose?.(),
      onerror: (error: Error) => this.#failed(error),
      onmessage: (message: JSONRPCMessage) => {
        const id = answeredIdOf(message);
        if (id !== undefined) this.#open.delete(id);
        this.onmessage?.(message);
      },
    });
  }

  get sessionId(): string | undefined {
    return this.#inner.sessionId;
  }

  start(): Promise<void> {
    return this.#inner.start();
  }

  setProtocolVersion(version: string): void {
    this.#inner.setProtocolVersion(version);
  }

  async send(message: JSONRPCMessage, options: TransportSendOptions = {}): Promise<void> {
    const cancelled = cancelledIdOf(message);
    if (cancelled !== undefined) {
      this.#open.get(cancelled)?.stop.abort();
      this.#open.delete(cancelled);
    }
    const id = requestIdOf(message);
    if (id === undefined) return this.#inner.send(message);
    const request: OpenRequest = {stop: new AbortController()};
    this.#open.set(id, request);
    try {
      const onresumptiontoken = (id: string): void => void (request.lastEventId = id);
      await this.#inner.send(message, {...options, onresumptiontoken} as Parameters<StreamableHTTPClientTransport['send']>[1]);
    } catch (error) {
      this.#open.delete(id);
      throw error;
    } finally {
      if (!request.isStreamed) request.unlink?.();
    }
    if (!request.isStreamed) this.#answerFor(id);
  }

  close(): Promise<void> {
    return (this.#closed ??= this.#close());
  }

  async #close(): Promise<void> {
    const timers = new Timers();
    timers.hold();
    const terminated = this.#terminates ? this.#inner.terminateSession() : Promise.resolve();
    await within(terminated, (callback) => timers.set(PATIENCE_MS, callback));
    await this.#inner.close();
  }

  async #fetchWatched(url: string | URL, init: RequestInit = {}): Promise<Response> {
    const message = typeof init.body === 'string' ? (JSON.parse(init.body) as JSONRPCMessage) : undefined;
    const id = message && requestIdOf(message);
    const request = id === undefined ? undefined : this.#open.get(id);
    if (id === undefined || !request) return this.#fetchOther(url, init);
    const {stop} = request;
    const all = init.signal;
    const forward = (): void => stop.abort(all?.reason);
    if (all?.aborted) forward();
    all?.addEventListener('abort', forward, {once: true});
    request.unlink = () => all?.removeEventListener('abort', forward);
    const response = await this.#fetch(url, {...init, signal: stop.signal});
    const {body, headers, ok} = response;
    if (!ok || !body || !/^text\/event-stream\b/.test(headers.get('content-type') ?? '')) return response;
    request.isStreamed = true;
    const ended = (): void => {
      request.unlink?.();
      request.isBroken = true;
      // What came last is still on its way through the SDK's parser.
      setTimeout(() => request.lastEventId === undefined && this.#answerFor(id));
    };
    return new Response(watch(body, {ended, id, signal: stop.signal}), response);
  }

  async #fetchOther(url: string | URL, init: RequestInit): Promise<Response> {
    const response = await this.#fetch(url, init);
    // To the SDK this is a server without streams of its own: it gives up without a word, also where it asked for the rest of one.
    const lastEventId = response.status === 405 ? new Headers(init.headers).get('last-event-id') : null;
    for (const [id, request] of this.#open) if (request.isBroken && request.lastEventId === lastEventId) this.#answerFor(id);
    return response;
  }

  /** The SDK says in no other way that it has given up getting the rest of a stream. */
  #failed(error: Error): void {
    this.onerror?.(error);
    if (!error.message.startsWith('Maximum reconnection attempts')) return;
    for (const [id, {isBroken}] of this.#open) if (isBroken) this.#answerFor(id);
  }

  #answerFor(id: RequestId): void {
    if (!this.#open.delete(id)) return;
    const message = 'The server ended its reply without an answer';
    this.onmessage?.({jsonrpc: '2.0', id, error: {code: CONNECTION_CLOSED, message, data: NO_ANSWER}});
  }
}

interface Watched {
  readonly id: RequestId;
  readonly signal: AbortSignal;
  readonly ended: () => void;
}

/** The stream that answers a request. To the SDK one that is cut off would be one to resume, so a cancelled one ends with an answer. */
function watch(body: ReadableStream<Uint8Array<ArrayBuffer>>, {id, signal, ended}: Watched): ReadableStream<Uint8Array<ArrayBuffer>> {
  const reader = body.getReader();
  return new ReadableStream({
    pull: async (controller) => {
      try {
        const {done, value} = await reader.read();
        if (!done) return controller.enqueue(value);
        controller.close();
      } catch (error) {
        if (!signal.aborted) controller.error(error);
        else {
          controller.enqueue(new TextEncoder().encode(`\n\ndata: ${JSON.stringify({jsonrpc: '2.0', id, result: {}})}\n\n`));
          controller.close();
        }
      }
      ended();
    },
    cancel: (reason) => {
      ended();
      return reader.cancel(reason);
    },
  });
}
