/** A server that does with a client's connection just what a test says, WebSocket or not. */
import {createServer, type IncomingMessage} from 'node:http';
import type {AddressInfo} from 'node:net';
import type {Duplex} from 'node:stream';

import {type WebSocket, WebSocketServer} from 'ws';

/** The other end of one connection. */
export interface PeerConnection {
  readonly incoming: IncomingMessage;
  readonly socket: Duplex;
  /** Settles when the TCP connection is gone. */
  readonly gone: Promise<void>;
  /** Answers the handshake. */
  readonly upgrade: () => Promise<WebSocket>;
}

export interface Peer extends AsyncDisposable {
  readonly url: string;
  readonly connections: readonly PeerConnection[];
  /** The first connection, when it comes. */
  readonly first: Promise<PeerConnection>;
}

/** Listens on a free port. `serve` gets each connection whose handshake has come. */
export async function peer(serve: (connection: PeerConnection) => void | Promise<void> = () => {}): Promise<Peer> {
  const webSockets = new WebSocketServer({noServer: true});
  const connections: PeerConnection[] = [];
  const first = Promise.withResolvers<PeerConnection>();
  const server = createServer();
  server.on('upgrade', (incoming, socket, head) => {
    const gone = Promise.withResolvers<void>();
    socket.once('close', gone.resolve);
    socket.once('end', () => socket.end());
    socket.on('error', () => {});
    const connection = {
      incoming,
      socket,
      gone: gone.promise,
      upgrade: () => new Promise<WebSocket>((resolve) => webSockets.handleUpgrade(incoming, socket, head, resolve)),
    };
    connections.push(connection);
    first.resolve(connection);
    void serve(connection);
  });
  server.listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    connections,
    first: first.promise,
    async [Symbol.asyncDispose]() {
      for (const {socket} of connections) socket.destroy();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
