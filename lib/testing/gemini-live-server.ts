import {createServer, type IncomingMessage, type Server} from 'node:http';
import type {AddressInfo} from 'node:net';
import type {Duplex} from 'node:stream';
import {WebSocketServer} from 'ws';
import {InvalidOptionError} from '../errors.ts';
import {LiveConnection, LiveSocket} from './gemini-live-server-connection.ts';
import {LiveCore} from './gemini-live-server-core.ts';
import {keyMessages, keyRefusalOf, readLiveRequest, refuseHandshake, type LiveHandshakeRefusal} from './gemini-live-server-request.ts';
import type {LiveHandles} from './gemini-live-server-rules.ts';
import {acknowledged, play, type LiveScript, type LiveSessionOptions} from './gemini-live-server-scripts.ts';
import {LiveServerSession} from './gemini-live-server-session.ts';
import {errorBody} from './gemini-server-errors.ts';
import {RequestLog} from './request-log.ts';

/** What a `GeminiLiveServer` starts with, and how strict it is. */
export interface GeminiLiveServerOptions {
  /** The one API key that is valid. Default: any key is, but there must be one. */
  readonly apiKey?: string | undefined;
  /** The first sessions' scripts, one per connection that is let in. Default: none; `session` adds more. */
  readonly sessions?: readonly LiveScript[] | undefined;
  /**
   * How a client without a valid key is turned away: the handshake is refused with 403, or it is accepted and the connection closed, with
   * 1007 (wrong) or 1008 (missing), which is what public reports tell of the Gemini API. Default: `'handshake'`.
   */
  readonly keyRefusal?: 'handshake' | 'close' | undefined;
  /** Whether an empty message follows every second one, as Google's server strews them in. Default: `true`. */
  readonly noise?: boolean | undefined;
  /**
   * Whether the server closes where Google's would, with a readable reason: a first message that is no setup, and a second setup; unknown
   * fields, response modalities and `scheduling`s; an unknown resumption handle; an answer to a call that was not made, or, on the Gemini
   * API, without an id; `clientContent` while the call of a blocking function is open. Default: `true`.
   */
  readonly strict?: boolean | undefined;
  /** Resumption handles that are valid though no session of this server has offered them. Default: none. */
  readonly resumptionHandles?: readonly string[] | undefined;
}

const notFound: LiveHandshakeRefusal = {
  status: 404,
  body: '<!DOCTYPE html>\n<html lang=en>\n  <title>Error 404 (Not Found)!!1</title>\n',
};

/**
 * A server of Gemini's Live API on a free port of this machine. It speaks the real protocol over WebSockets, of the Gemini API and of
 * Vertex, frame by frame, and watches its connections, so that a test sees what a stop really ended.
 *
 * Each connection that it lets in takes the next script; one without a script has its setup acknowledged, and hears nothing more.
 *
 * @example
 * ```ts
 * import {GoogleGenAI} from '@google/genai';
 * import {GeminiLiveServer} from 'sluice/testing';
 *
 * await using server = await GeminiLiveServer.start();
 * server.session(async (session) => {
 *   await session.acknowledge();
 *   await session.next('clientContent');
 *   const [call] = session.toolCall([{name: 'get_weather', args: {city: 'Paris'}}]);
 *   const {payload} = await session.next('toolResponse');
 *   console.log(call?.id, payload);
 *   session.say('It rains in Paris.');
 *   session.completeGeneration();
 *   session.completeTurn();
 * });
 * // The same, as steps; and a server that fails.
 * server.session(['setup', {setupComplete: {}}, 'clientContent', (session) => session.say('Hi')]);
 * server.session(['setup', (session) => session.close(1011, 'Internal error encountered.')], {noise: false});
 *
 * const ai = new GoogleGenAI({apiKey: 'test', apiVersion: 'v1beta', httpOptions: {baseUrl: server.url}});
 * const live = await ai.live.connect({model: 'gemini-live-2.5-flash-preview', callbacks: {onmessage: (message) => console.log(message)}});
 * live.sendClientContent({turns: 'Weather?'});
 * const session = await server.nextSession();
 * console.log(await session.message('clientContent'));
 * live.close();
 * console.log(await session.closed);
 * ```
 */
export class GeminiLiveServer implements AsyncDisposable {
  readonly #options: GeminiLiveServerOptions;
  readonly #scripts: {readonly script: LiveScript; readonly options: LiveSessionOptions}[] = [];
  readonly #log = new RequestLog<LiveServerSession>();
  readonly #open = new Set<LiveConnection>();
  readonly #handles: LiveHandles;
  readonly #webSockets = new WebSocketServer<typeof LiveSocket>({noServer: true, WebSocket: LiveSocket});
  readonly #server: Server;
  #url = '';

  private constructor(options: GeminiLiveServerOptions) {
    const {sessions = [], resumptionHandles = []} = options;
    if (!Array.isArray(sessions)) throw new InvalidOptionError('sessions', 'an array of scripts', sessions);
    this.#options = options;
    this.#handles = new Map(resumptionHandles.map((handle) => [handle, undefined]));
    for (const script of sessions as readonly LiveScript[]) this.session(script);
    this.#server = createServer((_request, response) => response.writeHead(404, {'content-type': 'text/html'}).end(notFound.body));
    this.#server.on('upgrade', (incoming, socket, head) => this.#connect(incoming, socket, head));
  }

  /** Starts a server. */
  static async start(options: GeminiLiveServerOptions = {}): Promise<GeminiLiveServer> {
    const server = new GeminiLiveServer(options);
    await new Promise<void>((resolve, reject) => {
      server.#server.once('error', reject);
      server.#server.listen(0, '127.0.0.1', resolve);
    });
    server.#url = `http://127.0.0.1:${(server.#server.address() as AddressInfo).port}`;
    return server;
  }

  /** The base URL for a client, without a slash at the end. */
  get url(): string {
    return this.#url;
  }

  /** Every attempt to connect so far, refused ones included. */
  get sessions(): readonly LiveServerSession[] {
    return this.#log.all;
  }

  /** How many scripts no connection has taken yet. */
  get unusedSessions(): number {
    return this.#scripts.length;
  }

  /** Adds a script to the queue. */
  session(script: LiveScript, options: LiveSessionOptions = {}): void {
    this.#scripts.push({script, options});
  }

  /** The first attempt to connect that no earlier `nextSession()` got, at once or when it comes. Rejects if the server is closed before. */
  nextSession(): Promise<LiveServerSession> {
    return this.#log.next();
  }

  /** Ends every connection and stops listening. */
  async close(): Promise<void> {
    this.#log.close();
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    const gone = [...this.#open].map((connection) => {
      connection.drop();
      return connection.closed;
    });
    this.#server.closeAllConnections();
    await Promise.all([closed, ...gone]);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #connect(incoming: IncomingMessage, socket: Duplex, head: Buffer): void {
    const connection = new LiveConnection(socket);
    this.#open.add(connection);
    void connection.closed.then(() => this.#open.delete(connection));
    const request = readLiveRequest(incoming);
    const key = request.apiVersion === '' ? undefined : keyRefusalOf(request, this.#options.apiKey);
    const letIn = request.apiVersion !== '' && !key;
    const {script, options} = (letIn ? this.#scripts.shift() : undefined) ?? {script: acknowledged, options: {}};
    const core = new LiveCore(this.#log.all.length, request, connection, {
      noise: options.noise ?? this.#options.noise ?? true,
      strict: options.strict ?? this.#options.strict ?? true,
      answerClose: options.answerClose ?? true,
      handles: this.#handles,
    });
    const session = new LiveServerSession(core);
    const refusal = request.apiVersion === '' ? notFound : options.handshake;
    if (key && this.#options.keyRefusal !== 'close') {
      this.#refuse(core, socket, {status: 403, body: errorBody({code: 403, message: keyMessages[key]})}, keyMessages[key]);
    } else if (refusal === 'stall') connection.stall();
    else if (refusal) this.#refuse(core, socket, refusal);
    else {
      this.#webSockets.handleUpgrade(incoming, socket, head, (webSocket) => {
        core.accept(webSocket);
        if (key) core.refuse({code: key === 'wrong' ? 1007 : 1008, reason: keyMessages[key]});
        else void play(script, session, core);
      });
    }
    this.#log.add(session);
  }

  #refuse(core: LiveCore, socket: Duplex, refusal: LiveHandshakeRefusal, reason = `HTTP ${refusal.status}`): void {
    core.refusal = {code: refusal.status, reason};
    core.connection.own();
    core.connection.stall();
    refuseHandshake(socket, refusal);
  }
}
