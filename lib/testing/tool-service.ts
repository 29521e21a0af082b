import type {IncomingHttpHeaders, IncomingMessage} from 'node:http';
import {InvalidOptionError} from '../errors.ts';
import type {Closed, Exchange} from './exchange.ts';
import {Loopback, readBody} from './loopback.ts';
import {RequestLog} from './request-log.ts';

/** How a `ToolService` answers. */
export interface ToolServiceOptions {
  /** How long an answer takes, in milliseconds of real time; a function decides by request. Default: 400. */
  readonly delayMs?: number | ((request: ToolRequest) => number) | undefined;
}

/** A request that the service got. Times are on the process's real `performance.now()` scale. */
export interface ToolRequest {
  readonly method: string;
  /** Without the query. */
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  readonly startedAt: number;
  /** When the response was over, answered or not; `undefined` before. */
  readonly endedAt: number | undefined;
  /** Settles when the response is over; `early` if the client closed its socket before it had the answer. Never rejects. */
  readonly closed: Promise<Closed>;
  readonly closedEarly: boolean;
}

/**
 * A small HTTP service for tools to call, on a free port of this machine: it answers any request with what it got, as JSON, after a
 * while, and watches whether the caller stays for it.
 *
 * @example
 * ```ts
 * import {ToolService} from 'sluice/testing';
 *
 * await using service = await ToolService.start({delayMs: 50});
 * const response = await fetch(`${service.url}/weather?city=Paris`);
 * console.log(await response.json(), (await service.nextRequest()).closedEarly);
 * ```
 */
export class ToolService implements AsyncDisposable {
  readonly #delayMs: (request: ToolRequest) => number;
  readonly #log = new RequestLog<ToolRequest>();
  readonly #loopback = new Loopback((incoming, exchange) => this.#answer(incoming, exchange));

  private constructor(delayMs: (request: ToolRequest) => number) {
    this.#delayMs = delayMs;
  }

  /** Starts a service. */
  static async start({delayMs = 400}: ToolServiceOptions = {}): Promise<ToolService> {
    if (typeof delayMs === 'number' && !(delayMs >= 0)) throw new InvalidOptionError('delayMs', '0 or more, or a function', delayMs);
    const service = new ToolService(typeof delayMs === 'function' ? delayMs : () => delayMs);
    await service.#loopback.listen();
    return service;
  }

  /** Where it listens, without a slash at the end. */
  get url(): string {
    return this.#loopback.url;
  }

  /** Every request so far, in order of arrival. */
  get requests(): readonly ToolRequest[] {
    return this.#log.all;
  }

  /** The first request that no earlier `nextRequest()` got, at once or when it comes. Rejects if the service is closed before. */
  nextRequest(): Promise<ToolRequest> {
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
    const {method = 'GET', headers} = incoming;
    const {pathname, searchParams} = new URL(incoming.url ?? '/', this.url);
    const echo = {method, path: pathname, query: Object.fromEntries(searchParams), body: await readBody(incoming)};
    const request: ToolRequest = {
      ...echo,
      headers,
      startedAt: exchange.receivedAt,
      closed: exchange.closed,
      get endedAt() {
        return exchange.endedAt;
      },
      get closedEarly() {
        return exchange.closedEarly;
      },
    };
    this.#log.add(request);
    await exchange.pause(this.#delayMs(request));
    if (exchange.isClosed) return;
    exchange.response.setHeader('content-type', 'application/json');
    exchange.response.end(JSON.stringify(echo));
  }
}
