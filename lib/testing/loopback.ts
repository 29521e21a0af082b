import {createServer, type IncomingMessage, type Server} from 'node:http';
import type {AddressInfo} from 'node:net';
import {Exchange} from './exchange.ts';

/** An HTTP server on a free port of 127.0.0.1. */
export class Loopback {
  readonly #server: Server;
  readonly #open = new Set<Exchange>();
  #url = '';

  /** `answer` may reject: the connection is closed then, as when a client leaves in the middle of its request. */
  constructor(answer: (incoming: IncomingMessage, exchange: Exchange) => Promise<void>) {
    this.#server = createServer((incoming, response) => {
      const exchange = new Exchange(response);
      this.#open.add(exchange);
      void exchange.closed.then(() => this.#open.delete(exchange));
      answer(incoming, exchange).catch(() => response.destroy());
    });
  }

  /** Where it listens, without a slash at the end. */
  get url(): string {
    return this.#url;
  }

  async listen(): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      this.#server.once('error', reject);
      this.#server.listen(0, '127.0.0.1', resolve);
    });
    this.#url = `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Ends every connection and stops listening. A second time does nothing. */
  async close(): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    for (const exchange of this.#open) exchange.own();
    this.#server.closeAllConnections();
    await closed;
  }
}

/** The whole body of a request; rejects if the client leaves before its end. */
export async function readBody(incoming: IncomingMessage): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of incoming) chunks.push(chunk as Uint8Array);
  return Buffer.concat(chunks).toString('utf8');
}
