import type {Client} from '@modelcontextprotocol/sdk/client/index.js';
import type {Transport} from '@modelcontextprotocol/sdk/shared/transport.js';
import type {Lifetime} from '../async/lifetime.ts';
import {LONGEST_MS} from '../async/timers.ts';
import {isRecord} from '../schema/is-record.ts';
import {serverName, type MCPConnectionParams} from './connection-params.ts';
import {reasonOf} from './http-failure.ts';
import {HttpTransport} from './http-transport.ts';
import {LostRequest} from './lost-request.ts';
import {MCPError} from './mcp-error.ts';
import {CONNECTION_CLOSED, NO_ANSWER} from './message-ids.ts';
import {loadSdk, type Sdk} from './sdk.ts';

/** What a server says of its progress with a call. */
export interface Progress {
  readonly progress: number;
  readonly total?: number | undefined;
  readonly message?: string | undefined;
}

/** How a request is made. */
export interface RequestOptions {
  /** Ends the request: the server is told, and not waited for. */
  readonly life: Lifetime;
  readonly onProgress?: (progress: Progress) => void;
}

/** Who is told of what happens to a connection. */
export interface ConnectionOwner {
  /** The server says that its list of tools is another one now. */
  toolsChanged(): void;
  /** The connection takes no request any more. `work` settles, and never rejects, when nothing of it is left. */
  closing(connection: Connection, work: Promise<void>): void;
}

/** A transport that may know why the server has ended. */
type ServerTransport = Transport & {readonly endReason?: string | undefined};

/** One connection to a server, from its `initialize` to its end. */
export class Connection {
  readonly #client: Client;
  readonly #sdk: Sdk;
  readonly #transport: ServerTransport;
  readonly #owner: ConnectionOwner;
  #requests = 0;
  #isUsable = true;
  #isOver = false;
  #closed: Promise<void> | undefined;

  private constructor(sdk: Sdk, transport: ServerTransport, owner: ConnectionOwner) {
    this.#sdk = sdk;
    this.#transport = transport;
    this.#owner = owner;
    this.#client = new sdk.Client({name: 'sluice', version: '0.1.0'});
    Object.assign(this.#client, {
      onclose: () => {
        this.#isOver = true;
        void this.close();
      },
      fallbackNotificationHandler: async ({method}: {method: string}) => {
        if (method === 'notifications/tools/list_changed') owner.toolsChanged();
      },
    });
  }

  /**
   * Connects, and says hello.
   *
   * @param life - its end stops that, and whatever was begun is closed
   * @throws MCPError (`MCP_CONNECTION_FAILED`, `MCP_SDK_MISSING`), or the reason of the end
   */
  static async open(params: MCPConnectionParams, life: Lifetime, owner: ConnectionOwner): Promise<Connection> {
    const sdk = await loadSdk();
    const transport = await createTransport(params, sdk);
    life.throwIfEnded();
    const connection = new Connection(sdk, transport, owner);
    // The SDK hears the signal only while it waits for the answer to `initialize`.
    life.onEnd(() => void connection.close());
    try {
      await connection.#client.connect(transport, {signal: life.signal, timeout: LONGEST_MS});
      life.throwIfEnded();
      return connection;
    } catch (cause) {
      // Where the server was there to refuse, its end is our doing, and says nothing.
      const isLost = connection.#isOver || connection.#lossOf(cause) !== undefined;
      await connection.close();
      life.throwIfEnded();
      const why = (isLost && transport.endReason) || reasonOf(cause);
      throw new MCPError('MCP_CONNECTION_FAILED', `Could not connect to ${serverName(params)}: ${why}`, {cause});
    }
  }

  /** Whether requests can still be sent. */
  get isUsable(): boolean {
    return this.#isUsable;
  }

  /** Whether the server has tools at all. */
  get hasTools(): boolean {
    return this.#client.getServerCapabilities()?.tools !== undefined;
  }

  /** Why the server has ended the connection, where that is known. */
  get endReason(): string | undefined {
    return this.#isOver ? this.#transport.endReason : undefined;
  }

  /**
   * Sends a request, and gives what the server answers, as it stands: nothing is checked, since servers differ.
   *
   * @throws the reason of the end, at once; {@link LostRequest}; the SDK's `McpError` for what the server refuses
   */
  async request(method: string, params: Record<string, unknown>, {life, onProgress}: RequestOptions): Promise<Record<string, unknown>> {
    life.throwIfEnded();
    if (!this.#isUsable) throw new LostRequest(false, 'Not connected');
    this.#requests++;
    try {
      // The deadlines are the caller's: the SDK's own of 60 s would end what may take longer.
      const options = {signal: life.signal, timeout: LONGEST_MS, ...(onProgress && {onprogress: onProgress})};
      return await this.#client.request({method, params}, this.#sdk.ResultSchema, options);
    } catch (error) {
      life.throwIfEnded();
      const lost = this.#lossOf(error);
      if (!lost) throw error;
      this.#isUsable = false;
      throw lost;
    } finally {
      this.#requests--;
      if (!this.#isUsable && this.#requests === 0) void this.close();
    }
  }

  /** Closes it. Settles when nothing of it is left: no process, no socket. */
  close(): Promise<void> {
    this.#isUsable = false;
    if (!this.#closed) {
      this.#closed = this.#transport.close().catch(() => {});
      this.#owner.closing(this, this.#closed);
    }
    return this.#closed;
  }

  #lossOf(error: unknown): LostRequest | undefined {
    if (error instanceof LostRequest) return error;
    if (!(error instanceof Error)) return undefined;
    const {code, data} = error as {code?: unknown; data?: unknown};
    if (data === NO_ANSWER || (this.#isOver && code === CONNECTION_CLOSED)) return new LostRequest(true, error);
    // The server does not know the session any more. The protocol has 404 for that, and many servers say 400.
    if (this.#transport.sessionId !== undefined && (code === 404 || code === 400)) return new LostRequest(false, error);
    // `fetch` has failed.
    if (error instanceof TypeError && error.cause !== undefined) return new LostRequest(!NOT_REACHED.has(codeOf(error.cause)), error);
    return undefined;
  }
}

/** What `fetch` fails with where nothing has been sent yet. */
const NOT_REACHED: ReadonlySet<unknown> = new Set([
  'ECONNREFUSED',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'UND_ERR_CONNECT_TIMEOUT',
]);

function codeOf(cause: unknown): unknown {
  return isRecord(cause) ? cause['code'] : undefined;
}

async function createTransport(params: MCPConnectionParams, sdk: Sdk): Promise<ServerTransport> {
  // It needs Node; the other runs anywhere.
  if (params.type === 'StdioConnectionParams') return new (await import('./stdio-transport.ts')).StdioTransport(params.serverParams);
  return new HttpTransport(sdk.StreamableHTTPClientTransport, params);
}
