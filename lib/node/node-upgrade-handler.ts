import {ServerResponse, type IncomingMessage} from 'node:http';
import type {Socket} from 'node:net';
import type {Duplex} from 'node:stream';
import type {WebSocket, WebSocketServer} from 'ws';
import {expectOption} from '../errors.ts';
import type {Upgrade} from '../serve/handler.ts';
import {HttpProblem} from '../serve/http-problem.ts';
import {hasBody} from './incoming-body.ts';
import {errorListener, Exchange, type FetchHandler, type NodeHandlerOptions} from './node-handler.ts';

/** The most that one message of a WebSocket may hold, in bytes. A longer one closes it with 1009, if the handler's own limit is not lower. */
const MAX_MESSAGE_BYTES = 64 * 1024 * 1024;

/** A listener for the event `upgrade` of a server of Node's. */
export type NodeUpgradeHandler = (incoming: IncomingMessage, socket: Duplex, head: Buffer) => void;

/**
 * Lets a handler make WebSockets of requests, on a server of `node:http`. `ws` is loaded by the first that asks for one. The handler's
 * socket is open from the start. A request that is not upgraded is answered with the handler's response, and its connection is closed. Other
 * protocols than WebSocket are declined by a plain answer; one that comes with a body, which Node does not read then, by 501.
 *
 * Without it a server takes no notice of `Upgrade` headers, and `/run_live` answers 501.
 *
 * @throws InvalidOptionError
 * @example
 * ```ts
 * import {createServer} from 'node:http';
 * import {toNodeHandler, toNodeUpgradeHandler, type FetchHandler} from 'sluice/node';
 *
 * const echo: FetchHandler = (request, host) => {
 *   if (!host?.upgradeWebSocket) return new Response('Expected a WebSocket', {status: 426});
 *   const {socket, response} = host.upgradeWebSocket(request);
 *   socket.addEventListener('message', ({data}) => socket.send(String(data)));
 *   return response;
 * };
 * createServer(toNodeHandler(echo)).on('upgrade', toNodeUpgradeHandler(echo)).listen(8000, '127.0.0.1');
 * ```
 */
export function toNodeUpgradeHandler(handler: FetchHandler, options: NodeHandlerOptions = {}): NodeUpgradeHandler {
  expectOption(typeof handler === 'function', 'handler', 'a function', handler);
  const onError = errorListener('toNodeUpgradeHandler', options);
  let server: WebSocketServer | undefined;
  const load = async (): Promise<WebSocketServer> => {
    const {WebSocketServer} = await import('ws');
    server ??= new WebSocketServer({noServer: true, maxPayload: MAX_MESSAGE_BYTES});
    return server;
  };
  return (incoming, socket, head) => {
    // Whoever is not told by `close` has no use for it; without a listener it would end the process.
    socket.on('error', () => {});
    const exchange = new Exchange(hasBody(incoming) ? decline : handler, incoming, onError);
    socket.once('close', () => exchange.leave());
    if (!wantsWebSocket(incoming)) void exchange.answer(responseOn(socket, incoming));
    else load().then((server) => answerUpgrade(exchange, new Handshake(server, incoming, socket, head)), onError);
  };
}

/** Node does not read the body of a request that asks for another protocol. */
function decline(): Response {
  return new HttpProblem(501, 'UPGRADE_NOT_SUPPORTED', 'A request with a body cannot change the protocol').toResponse();
}

/** Whether a request asks to become a WebSocket. */
export function wantsWebSocket({method, headers}: IncomingMessage): boolean {
  return method === 'GET' && headers.upgrade?.toLowerCase() === 'websocket';
}

async function answerUpgrade(exchange: Exchange, handshake: Handshake): Promise<void> {
  const response = await exchange.ask(null, {upgradeWebSocket: () => handshake.upgrade()});
  if (handshake.settle(response)) return;
  await exchange.send(response, responseOn(handshake.socket, handshake.incoming));
}

function responseOn(socket: Duplex, incoming: IncomingMessage): ServerResponse {
  const outgoing = new ServerResponse(incoming);
  outgoing.shouldKeepAlive = false;
  outgoing.assignSocket(socket as Socket);
  outgoing.once('finish', () => socket.end());
  return outgoing;
}

class Handshake {
  readonly incoming: IncomingMessage;
  readonly socket: Duplex;
  readonly #server: WebSocketServer;
  readonly #head: Buffer;
  /** What the handler is given to return. */
  readonly #response = new Response(null);
  #webSocket: WebSocket | undefined;

  constructor(server: WebSocketServer, incoming: IncomingMessage, socket: Duplex, head: Buffer) {
    this.#server = server;
    this.incoming = incoming;
    this.socket = socket;
    this.#head = head;
  }

  /** @throws {@link HttpProblem} where the client's headers are no handshake, or the client has left */
  upgrade(): Upgrade {
    // With a listener `ws` leaves the answer to us.
    const ignore = (): void => {};
    this.#server.on('wsClientError', ignore);
    this.#server.handleUpgrade(this.incoming, this.socket, this.#head, (webSocket) => {
      webSocket.binaryType = 'arraybuffer';
      this.#webSocket = webSocket;
    });
    this.#server.off('wsClientError', ignore);
    if (!this.#webSocket) throw new HttpProblem(400, 'MALFORMED_REQUEST', 'The request is not the handshake of a WebSocket');
    return {socket: this.#webSocket, response: this.#response};
  }

  /** Whether there is a WebSocket now. A handler that answers something else than it was given has given it up. */
  settle(response: Response): boolean {
    if (this.#webSocket && response !== this.#response) this.#webSocket.close(1011);
    return this.#webSocket !== undefined;
  }
}
