import {createServer, type IncomingHttpHeaders, type IncomingMessage, type Server, type ServerResponse} from 'node:http';
import type {AddressInfo} from 'node:net';
import {text} from 'node:stream/consumers';
import type {StreamableHTTPConnectionParams} from 'sluice/mcp';
import {initialize, type Message} from './stdio-peer.ts';

/** One HTTP exchange, whose answer is the test's. */
export class Exchange {
  readonly message: Message;
  readonly headers: IncomingHttpHeaders;
  /** Resolves when the client has closed it, or all of the answer is sent. */
  readonly closed: Promise<void>;
  readonly #response: ServerResponse;

  constructor(message: Message, headers: IncomingHttpHeaders, response: ServerResponse) {
    this.message = message;
    this.headers = headers;
    this.#response = response;
    this.closed = new Promise((resolve) => response.once('close', () => resolve()));
  }

  json(result: unknown): void {
    this.#response.writeHead(200, {'content-type': 'application/json', 'mcp-session-id': 'session'});
    this.#response.end(JSON.stringify({jsonrpc: '2.0', id: this.message.id, result}));
  }

  status(status: number, type = 'text/plain', body = ''): void {
    this.#response.writeHead(status, {'content-type': type}).end(body);
  }

  /** The head of an answer that is JSON, without the answer. */
  async head(): Promise<void> {
    this.#response.writeHead(200, {'content-type': 'application/json'});
    await new Promise((resolve) => this.#response.write(' ', resolve));
  }

  /** Begins, or goes on with, an answer as a stream. An `id` makes it one that can be resumed. */
  async event(message: unknown, id?: string): Promise<void> {
    if (!this.#response.headersSent) this.#response.writeHead(200, {'content-type': 'text/event-stream'});
    const text = `${id === undefined ? '' : `id: ${id}\n`}data: ${message === '' ? '' : JSON.stringify(message)}\n\n`;
    await new Promise((resolve) => this.#response.write(text, resolve));
  }

  answer(result: unknown): void {
    void this.event({jsonrpc: '2.0', id: this.message.id, result});
    this.#response.end();
  }

  end(): void {
    this.#response.end();
  }

  destroy(): void {
    this.#response.destroy();
  }
}

/** An MCP server over streamable HTTP on loopback whose every word is the test's. */
export class HttpPeer implements AsyncDisposable {
  /** All that came, in order: the message's method, or the one of HTTP. */
  readonly methods: string[] = [];
  readonly #server: Server;
  readonly #exchanges: Exchange[] = [];
  readonly #inbox: Exchange[] = [];
  readonly #waiting: {method: string; take: (exchange: Exchange) => void}[] = [];
  answers: Record<string, (exchange: Exchange) => void>;

  private constructor(answers: Record<string, (exchange: Exchange) => void>) {
    this.answers = answers;
    this.#server = createServer((request, response) => void this.#received(request, response));
  }

  /** Starts one that greets, and lists these tools. */
  static async start(tools: readonly Record<string, unknown>[], port = 0): Promise<HttpPeer> {
    const peer = new HttpPeer({
      initialize: (exchange) => exchange.json(initialize(exchange.message)),
      'notifications/initialized': (exchange) => exchange.status(202),
      'notifications/cancelled': (exchange) => exchange.status(202),
      'tools/list': (exchange) => exchange.json({tools: tools.map((tool) => ({inputSchema: {type: 'object'}, ...tool}))}),
      GET: (exchange) => exchange.status(405),
      DELETE: (exchange) => exchange.status(200),
    });
    await new Promise<void>((resolve) => peer.#server.listen(port, '127.0.0.1', resolve));
    return peer;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  params(more: Partial<StreamableHTTPConnectionParams> = {}): StreamableHTTPConnectionParams {
    return {type: 'StreamableHTTPConnectionParams', url: `http://127.0.0.1:${this.port}/mcp`, ...more};
  }

  next(method: string): Promise<Exchange> {
    const at = this.#inbox.findIndex(({message}) => message.method === method);
    const [found] = at < 0 ? [] : this.#inbox.splice(at, 1);
    if (found) return Promise.resolve(found);
    return new Promise((take) => this.#waiting.push({method, take}));
  }

  async #received(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const {method = ''} = request;
    const message: Message = method === 'POST' ? {method: 'answer', ...(JSON.parse(await text(request)) as Partial<Message>)} : {method};
    const exchange = new Exchange(message, request.headers, response);
    this.#exchanges.push(exchange);
    this.methods.push(message.method);
    const answer = this.answers[message.method];
    if (answer) answer(exchange);
    const at = this.#waiting.findIndex((it) => it.method === message.method);
    if (at >= 0) this.#waiting.splice(at, 1)[0]?.take(exchange);
    else if (!answer) this.#inbox.push(exchange);
  }

  /** Cuts all sockets and listens no more. */
  async stop(): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    this.#server.closeAllConnections();
    await closed;
  }

  /** Waits until every exchange is over: a test that leaves one open does not end. */
  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#exchanges.map(({closed}) => closed));
    await this.stop();
  }
}
