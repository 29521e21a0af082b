/** A handler over scripted agents, and short ways to ask it. */
import {createServer, type Server} from 'node:http';
import {connect, type AddressInfo, type Socket} from 'node:net';
import {InMemorySessionService, LlmAgent, type Event, type LlmAgentConfig, type RunOutcome} from 'sluice';
import {toNodeHandler, toNodeUpgradeHandler, type FetchHandler} from 'sluice/node';
import {createHandler, type Handler, type HandlerOptions, type Host} from 'sluice/serve';
import {ScriptedLlm, type ScriptedStep} from 'sluice/testing';

export interface SiteOptions extends Partial<HandlerOptions> {
  readonly steps?: readonly ScriptedStep[];
  readonly agent?: Partial<LlmAgentConfig>;
}

/** A handler for the app `app`, with a session `s` of the user `u`. */
export async function site({steps = [], agent, ...options}: SiteOptions = {}): Promise<Site> {
  const model = new ScriptedLlm({steps});
  const sessionService = options.sessionService ?? new InMemorySessionService();
  await sessionService.createSession({appName: 'app', userId: 'u', sessionId: 's'});
  const agents = {app: new LlmAgent({name: 'root', model, ...agent})};
  const errors: unknown[] = [];
  const handler = createHandler({agents, sessionService, onError: (error) => errors.push(error), ...options});
  return new Site(handler, model, sessionService, errors);
}

export class Site {
  readonly handler: Handler;
  readonly model: ScriptedLlm;
  readonly sessionService: NonNullable<HandlerOptions['sessionService']>;
  /** What the server's log was told. */
  readonly errors: unknown[];
  /** What the host was asked to wait for. */
  readonly waited: Promise<RunOutcome>[] = [];

  constructor(handler: Handler, model: ScriptedLlm, sessionService: NonNullable<HandlerOptions['sessionService']>, errors: unknown[]) {
    this.handler = handler;
    this.model = model;
    this.sessionService = sessionService;
    this.errors = errors;
  }

  /** Sends a request; a body that is no string goes as JSON. */
  ask(method: string, path: string, body?: unknown, init: RequestInit & {readonly host?: Host} = {}): Promise<Response> {
    const headers = new Headers(init.headers);
    if (body !== undefined && !headers.has('content-type')) headers.set('content-type', 'application/json');
    const content = body === undefined || typeof body === 'string' || body instanceof ReadableStream ? body : JSON.stringify(body);
    const streams = content instanceof ReadableStream && {duplex: 'half'};
    const request = new Request(`http://host${path}`, {method, ...init, headers, ...streams, body: (content as string) ?? null});
    return this.handler(request, {waitUntil: (promise) => this.waited.push(promise as Promise<RunOutcome>), ...init.host});
  }

  /** The status, and the body as JSON. */
  async json(method: string, path: string, body?: unknown, init?: RequestInit): Promise<{status: number; body: unknown}> {
    const response = await this.ask(method, path, body, init);
    return {status: response.status, body: await response.json()};
  }

  async stored(sessionId = 's'): Promise<Event[]> {
    return (await this.sessionService.getSession({appName: 'app', userId: 'u', sessionId}))?.events ?? [];
  }
}

/** The path of the session `s`. */
export const SESSION = '/apps/app/users/u/sessions/s';

/** What asks for a run in the session `s`. */
export function saying(text: string, more: Readonly<Record<string, unknown>> = {}): Record<string, unknown> {
  return {appName: 'app', userId: 'u', sessionId: 's', newMessage: {role: 'user', parts: [{text}]}, ...more};
}

/** The data of each message of a stream of server-sent events. */
export function sseData(text: string): unknown[] {
  const data = text.split(/\r?\n/).filter((line) => line.startsWith('data: '));
  return data.map((line) => JSON.parse(line.slice('data: '.length)) as unknown);
}

/** A handler behind a real socket. */
export class Served implements AsyncDisposable {
  readonly server: Server;
  readonly url: string;

  static async start(handler: FetchHandler): Promise<Served> {
    const server = createServer(toNodeHandler(handler)).on('upgrade', toNodeUpgradeHandler(handler));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return new Served(server);
  }

  private constructor(server: Server) {
    this.server = server;
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  /** Sends a request over a socket of its own, which the test can break at any moment. */
  post(path: string, body: unknown): Socket {
    const socket = connect({port: (this.server.address() as AddressInfo).port, host: '127.0.0.1'});
    const content = JSON.stringify(body);
    socket.write(
      `POST ${path} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(content)}\r\n\r\n${content}`,
    );
    return socket;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }
}

/** A promise, and what settles it. */
export function gate<T = void>(): PromiseWithResolvers<T> {
  return Promise.withResolvers<T>();
}
