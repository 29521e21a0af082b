/** A loopback server that does exactly what a test says, and records what became of each request. */
import {createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse} from 'node:http';
import type {AddressInfo, Socket} from 'node:net';

export interface RawRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  readonly socket: Socket;
  /** When the exchange is over: whether the answer was sent to its end, or the client went away before. */
  readonly closed: Promise<'answered' | 'closed early'>;
}

export interface RawServer extends AsyncDisposable {
  readonly url: string;
  readonly requests: readonly RawRequest[];
  /** The nth request, from 0, when it has arrived whole. */
  request(index: number): Promise<RawRequest>;
}

export type Answer = (response: ServerResponse, request: RawRequest) => void | Promise<void>;

/** Gives each request the next answer; the last one is given for ever. */
export async function rawServer(...answers: readonly Answer[]): Promise<RawServer> {
  const requests: RawRequest[] = [];
  const arrivals: PromiseWithResolvers<RawRequest>[] = [];
  const arrival = (index: number): PromiseWithResolvers<RawRequest> => (arrivals[index] ??= Promise.withResolvers<RawRequest>());

  const serve = async (incoming: IncomingMessage, response: ServerResponse): Promise<void> => {
    const closed = new Promise<'answered' | 'closed early'>((resolve) => {
      response.once('close', () => resolve(response.writableFinished ? 'answered' : 'closed early'));
    });
    const pieces: Buffer[] = [];
    for await (const piece of incoming) pieces.push(piece as Buffer);
    const {method = '', url: path = '', headers, socket} = incoming;
    const request: RawRequest = {method, path, headers, body: Buffer.concat(pieces).toString(), socket, closed};
    requests.push(request);
    arrival(requests.length - 1).resolve(request);
    await answers[Math.min(requests.length, answers.length) - 1]?.(response, request);
  };
  const server = createServer((incoming, response) => void serve(incoming, response));
  server.listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const {port} = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    requests,
    request: (index) => arrival(index).promise,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Answers nothing, ever. */
export const silence: Answer = () => {};

/** One event, framed as Google frames it. */
export function event(chunk: unknown): string {
  return `data: ${JSON.stringify(chunk)}\r\n\r\n`;
}

/** A stream of these events, to its end. */
export function stream(...chunks: readonly unknown[]): Answer {
  return (response) => {
    response.writeHead(200, {'Content-Type': 'text/event-stream'});
    response.end(chunks.map(event).join(''));
  };
}

/** The start of a stream, which then stalls. */
export function stalled(...chunks: readonly unknown[]): Answer {
  return (response) => {
    response.writeHead(200, {'Content-Type': 'text/event-stream'});
    response.flushHeaders();
    if (chunks.length > 0) response.write(chunks.map(event).join(''));
  };
}

/** A JSON answer. */
export function json(body: unknown, status = 200): Answer {
  return (response) => {
    response.writeHead(status, {'Content-Type': 'application/json; charset=UTF-8'});
    response.end(`${JSON.stringify(body, null, 2)}\n`);
  };
}

/** An error as Google answers it, on a stream too. */
export function failure(status: number, rpcStatus: string, message = 'no', details?: readonly unknown[]): Answer {
  return (response, {path}) => {
    response.writeHead(status, {'Content-Type': path.includes('alt=sse') ? 'text/event-stream' : 'application/json; charset=UTF-8'});
    response.end(`${JSON.stringify({error: {code: status, message, status: rpcStatus, ...(details && {details})}}, null, 2)}\n`);
  };
}

/** Any body at all. */
export function body(text: string, contentType: string, status = 200): Answer {
  return (response) => {
    response.writeHead(status, {'Content-Type': contentType});
    response.end(text);
  };
}

/** The start of a stream, after which the connection is reset. */
export function reset(...chunks: readonly unknown[]): Answer {
  return async (response, {socket}) => {
    if (chunks.length > 0) {
      response.writeHead(200, {'Content-Type': 'text/event-stream'});
      await new Promise<void>((resolve) => void response.write(chunks.map(event).join(''), () => resolve()));
    }
    socket.resetAndDestroy();
  };
}

/** A chunk with these parts. */
export function chunk(parts: readonly unknown[], finishReason?: string): unknown {
  return {candidates: [{content: {parts, role: 'model'}, ...(finishReason && {finishReason}), index: 0}]};
}

/** A chunk with one text. */
export function text(words: string, finishReason?: string): unknown {
  return chunk([{text: words}], finishReason);
}
