/** What a host can do for a handler beyond handing it requests. Every part is optional. */
export interface Host {
  /** Keeps the host awake until the promise settles: `ctx.waitUntil` of a worker. Hosts that live on need none. */
  readonly waitUntil?: ((promise: Promise<unknown>) => void) | undefined;
  /** Makes a WebSocket of a request. Without it `/run_live` answers 501. */
  readonly upgradeWebSocket?: ((request: Request) => Upgrade) | undefined;
}

/** A request that became a WebSocket. */
export interface Upgrade {
  readonly socket: ServerSocket;
  /** What the handler returns for the request. Only the host that made it knows what it means. */
  readonly response: Response;
}

/** The server's side of a WebSocket: the part of the web's `WebSocket` that every host has. */
export interface ServerSocket {
  /** 0 while it is not open yet; its `open` event follows then. Without it, the socket is taken to be open. */
  readonly readyState?: number;
  /** Bytes that the client has not taken yet, where the host can tell. */
  readonly bufferedAmount?: number;
  send(data: string | Uint8Array<ArrayBuffer>): void;
  close(code?: number, reason?: string): void;
  addEventListener(type: 'message', listener: (event: {readonly data: unknown}) => void): void;
  addEventListener(type: 'open' | 'close' | 'error', listener: (event: unknown) => void): void;
}

/** Answers requests for agents, on web standards only. */
export interface Handler extends AsyncDisposable {
  (request: Request, host?: Host): Promise<Response>;
  /**
   * Drains: new runs are refused with 503, those under way finish or are stopped at the deadline, with their sessions valid, and the runners
   * are closed. Never rejects; calls share one closing.
   *
   * @param options - `timeoutMs`: how long the runs may go on, in milliseconds. Default 5,000
   */
  close(options?: {readonly timeoutMs?: number | undefined}): Promise<void>;
}
