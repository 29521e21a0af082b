import {once} from 'node:events';
import {createServer, type IncomingMessage, type ServerResponse} from 'node:http';
import type {AddressInfo} from 'node:net';
import {Readable} from 'node:stream';
import {pipeline} from 'node:stream/promises';
import type {ReadableStream as NodeReadableStream} from 'node:stream/web';

/** Serves a handler of web standards on this machine, and gives its address. */
export async function serve(handler: (request: Request) => Promise<Response>, port: number): Promise<string> {
  const server = createServer((incoming, outgoing) => {
    answer(handler, incoming, outgoing).catch((error: unknown) => {
      // A client that has left is no failure.
      if (!outgoing.closed) console.error(error);
      outgoing.destroy();
    });
  });
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

// A Request of Node passes its signal on only until it is collected; whoever waits for the signal does not keep it.
const open = new Set<Request>();

async function answer(
  handler: (request: Request) => Promise<Response>,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
): Promise<void> {
  const client = new AbortController();
  const request = toRequest(incoming, client.signal);
  open.add(request);
  outgoing.once('close', () => {
    client.abort(new DOMException('The client has left', 'AbortError'));
    open.delete(request);
  });
  const response = await handler(request);
  outgoing.writeHead(response.status, Object.fromEntries(response.headers));
  if (!response.body) outgoing.end();
  // Reads on only when the client has taken what was written, and cancels the body when the client leaves.
  else await pipeline(Readable.fromWeb(response.body as NodeReadableStream, {highWaterMark: 1}), outgoing);
}

function toRequest(incoming: IncomingMessage, signal: AbortSignal): Request {
  const {method = 'GET', headers, url = '/'} = incoming;
  const hasBody = method !== 'GET' && method !== 'HEAD';
  return new Request(new URL(url, 'http://localhost'), {
    method,
    headers: Object.entries(headers).map(([name, value]): [string, string] => [name, String(value)]),
    signal,
    ...(hasBody && {body: Readable.toWeb(incoming) as ReadableStream<Uint8Array>, duplex: 'half' as const}),
  });
}
