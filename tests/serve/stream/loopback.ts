import {once} from 'node:events';
import {createServer, type IncomingMessage, type ServerResponse} from 'node:http';
import type {AddressInfo} from 'node:net';

type Handler = (request: Request) => Response | Promise<Response>;

/** A handler on a real socket: reads a body as fast as its client takes it, and tells the handler when the client has left. */
export class Loopback implements AsyncDisposable {
  readonly #server = createServer((incoming, outgoing) => {
    this.#answer(incoming, outgoing).catch(() => outgoing.destroy());
  });
  readonly #handler: Handler;
  /** Which of the two ways a host may tell that a client has left are used. */
  readonly #tells: {readonly signal: boolean; readonly cancel: boolean};
  readonly requests: Request[] = [];
  /** How many chunks of bodies were given to sockets that had room for more. */
  written = 0;
  /** Whether a response waits for its client to take what was written. */
  waiting = false;
  url = '';

  private constructor(handler: Handler, tells: {readonly signal: boolean; readonly cancel: boolean}) {
    this.#handler = handler;
    this.#tells = tells;
  }

  static async start(handler: Handler, tells: {signal: boolean; cancel: boolean} = {signal: true, cancel: true}): Promise<Loopback> {
    const loopback = new Loopback(handler, tells);
    loopback.#server.listen(0, '127.0.0.1');
    await once(loopback.#server, 'listening');
    loopback.url = `http://127.0.0.1:${(loopback.#server.address() as AddressInfo).port}`;
    return loopback;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = once(this.#server, 'close');
    this.#server.close();
    this.#server.closeAllConnections();
    await closed;
  }

  async #answer(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const client = new AbortController();
    // What there is to cancel, once there is something.
    const body: {reader?: ReadableStreamDefaultReader<Uint8Array> | undefined} = {};
    outgoing.once('close', () => {
      if (outgoing.writableFinished) return;
      if (this.#tells.signal) client.abort(new DOMException('The client has left', 'AbortError'));
      if (this.#tells.cancel) void body.reader?.cancel();
    });
    const chunks: Uint8Array[] = [];
    for await (const chunk of incoming) chunks.push(chunk as Uint8Array);
    const {method = 'GET', url = '/'} = incoming;
    const headers = Object.entries(incoming.headers).map(([name, value]): [string, string] => [name, String(value)]);
    const content = method === 'GET' ? {} : {body: Buffer.concat(chunks)};
    const request = new Request(new URL(url, 'http://127.0.0.1'), {method, headers, signal: client.signal, ...content});
    this.requests.push(request);
    const response = await this.#handler(request);
    outgoing.writeHead(response.status, Object.fromEntries(response.headers));
    outgoing.flushHeaders();
    const reader = (body.reader = response.body?.getReader());
    if (outgoing.closed) await reader?.cancel();
    for (let next = await reader?.read(); next && !next.done; next = await reader?.read()) {
      if (outgoing.closed) return;
      if (!outgoing.write(next.value)) {
        this.waiting = true;
        await drained(outgoing);
        this.waiting = false;
      }
      this.written++;
    }
    outgoing.end();
  }
}

/** Resolves when there is room again, or nobody left to need it. */
function drained(outgoing: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      outgoing.off('drain', done).off('close', done);
      resolve();
    };
    outgoing.on('drain', done).on('close', done);
  });
}
