import {once} from 'node:events';
import {createServer, type Server} from 'node:http';
import type {AddressInfo} from 'node:net';
import type {Duplex} from 'node:stream';
import {Timers} from '../async/timers.ts';
import {within} from '../async/within.ts';
import type {Handler} from '../serve/handler.ts';
import {allowHosts} from './allowed-hosts.ts';
import {drainOnSignal} from './drain-on-signal.ts';
import {checkClose, checkListen, type CloseOptions, type ListenOptions} from './listen-options.ts';
import {Exchange, errorListener, toNodeHandler} from './node-handler.ts';
import {toNodeUpgradeHandler, wantsWebSocket} from './node-upgrade-handler.ts';

/** What is sent after the last run has ended: the ends of its streams, to clients that read. */
const FLUSH_MS = 1_000;

/** A server that listens. */
export interface Listener extends AsyncDisposable {
  /** Where it listens, for example `http://127.0.0.1:8000`. An address that means every one (`0.0.0.0`, `::`) is told as `localhost`. */
  readonly url: string;
  readonly port: number;
  /** Resolves once it is closed, whoever closed it and however that went. */
  readonly closed: Promise<void>;
  /**
   * Drains: accepts no connection, closes those that wait for a request, and closes the handler, whose runs go on for `timeoutMs` at most.
   * Connections that are left a second after that are broken. Calls share one closing.
   *
   * @throws InvalidOptionError, and what the handler's `close` rejects with, once all is closed
   */
  close(options?: CloseOptions): Promise<void>;
}

/**
 * Serves a handler on `node:http`, WebSockets too, until it is closed or the process is told to end.
 *
 * The first SIGTERM or SIGINT drains all listeners of the process and ends it: with 0 where that went well, also where runs had to be stopped
 * at the deadline (their sessions are valid), and with 1 where a close failed or did not end within 5 seconds of its deadline. A second signal
 * ends it at once, with 128 and the signal's number. A program that has more to clean up passes `signals: []` and closes the listener itself.
 *
 * What is true of requests is said at {@link toNodeHandler}.
 *
 * @throws InvalidOptionError
 * @throws the system's own error where it cannot listen, for example one with the code `EADDRINUSE`
 * @example
 * ```ts
 * import {listen} from 'sluice/node';
 * import type {Handler} from 'sluice/serve';
 *
 * async function serve(handler: Handler): Promise<void> {
 *   const listener = await listen(handler, {port: 8000, drainTimeoutMs: 30_000});
 *   console.log(`Serving on ${listener.url}`);
 * }
 * ```
 */
export async function listen(handler: Handler, options: ListenOptions = {}): Promise<Listener> {
  const {port, hostname, allowedHosts, signals, drainTimeoutMs} = checkListen(handler, options);
  const {onError} = options;
  // Other upgrades, such as to h2c, are offers that may be declined by a plain answer.
  const server = createServer({shouldUpgradeCallback: wantsWebSocket});
  server.listen(port, hostname);
  await once(server, 'listening');
  const answer = allowHosts(handler, {allowedHosts, hostname, server});
  const report = errorListener('listen', {onError});
  server.on('request', toNodeHandler(answer, {onError}));
  server.on('upgrade', toNodeUpgradeHandler(answer, {onError}));
  server.on('checkContinue', (incoming, outgoing) => {
    void new Exchange(answer, incoming, report).answer(outgoing, () => outgoing.writeContinue());
  });
  server.on('error', report);
  const listening = new NodeListener({server, handler, drainTimeoutMs});
  const forget = drainOnSignal({signals, timeoutMs: drainTimeoutMs, close: () => listening.close()});
  void listening.closed.then(forget);
  return listening;
}

interface Parts {
  readonly server: Server;
  readonly handler: Handler;
  readonly drainTimeoutMs: number;
}

class NodeListener implements Listener {
  readonly url: string;
  readonly port: number;
  readonly closed: Promise<void>;
  readonly #parts: Parts;
  readonly #settle: () => void;
  /** The connections that are no longer the server's. */
  readonly #upgraded = new Set<Duplex>();
  #closing: Promise<void> | undefined;

  constructor(parts: Parts) {
    this.#parts = parts;
    const {address, port, family} = parts.server.address() as AddressInfo;
    const host = family === 'IPv6' ? `[${address}]` : address;
    this.url = `http://${address === '0.0.0.0' || address === '::' ? 'localhost' : host}:${port}`;
    this.port = port;
    const {promise, resolve} = Promise.withResolvers<void>();
    this.closed = promise;
    this.#settle = resolve;
    this.#watch(parts.server);
  }

  async close(options: CloseOptions = {}): Promise<void> {
    checkClose(options);
    const {timeoutMs = this.#parts.drainTimeoutMs} = options;
    this.#closing ??= this.#close(timeoutMs).finally(this.#settle);
    await this.#closing;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  #watch(server: Server): void {
    server.on('upgrade', (_incoming, socket) => {
      this.#upgraded.add(socket);
      socket.once('close', () => this.#upgraded.delete(socket));
    });
    // A connection that had its answer while the server closes must not wait for another request.
    server.prependListener('request', (_incoming, outgoing) => {
      if (this.#closing) outgoing.setHeader('connection', 'close');
      else outgoing.once('close', () => this.#closing && server.closeIdleConnections());
    });
  }

  async #close(timeoutMs: number): Promise<void> {
    const {server, handler} = this.#parts;
    const stopped = new Promise<void>((resolve) => server.close(() => resolve()));
    const timers = new Timers();
    timers.hold();
    try {
      await handler.close({timeoutMs});
    } finally {
      if (!(await within(stopped, (callback) => timers.set(FLUSH_MS, callback)))) {
        server.closeAllConnections();
        for (const socket of this.#upgraded) socket.destroy();
        await stopped;
      }
      timers.clear();
    }
  }
}
