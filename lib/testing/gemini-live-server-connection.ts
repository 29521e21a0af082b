import {performance} from 'node:perf_hooks';
import type {Duplex} from 'node:stream';
import {clearTimeout, setTimeout} from 'node:timers';
import {WebSocket} from 'ws';
import type {Closed} from './exchange.ts';

/** How a live connection ended. */
export interface LiveClosed extends Closed {
  /** Of the first close frame, whoever sent it: 1005 for one without a code. 1006 where there was none. */
  readonly code: number;
  readonly reason: string;
}

/** The time on the process's real `performance.now()` scale; taken at load, so that a test's fake clock does not bend it. */
export const realNow: () => number = performance.now.bind(performance);

/** A WebSocket that can leave the client's close frame without an answer. */
export class LiveSocket extends WebSocket {
  /** Gets the client's close frame; `false` leaves it without an answer. */
  onCloseFrame: (code: number, reason: string) => boolean = () => true;
  #ours = false;

  /** `ws` calls this itself when the client's close frame has come. */
  override close(code?: number, reason?: string | Buffer): void {
    if (this.#ours || this.onCloseFrame(code ?? 1005, reason?.toString() ?? '')) super.close(code, reason);
  }

  /** Sends a close frame of the server's own. */
  end(code: number, reason: string): void {
    this.#ours = true;
    super.close(code, reason);
  }
}

/** One TCP connection, from its handshake on, and a watch on its end. */
export class LiveConnection {
  readonly openedAt: number = realNow();
  /** Settles when the connection is gone, whoever ended it. Never rejects. */
  readonly closed: Promise<LiveClosed>;
  #webSocket: LiveSocket | undefined;
  #end: Omit<LiveClosed, 'afterMs'> | undefined;
  #closed: LiveClosed | undefined;
  #resolve!: (closed: LiveClosed) => void;
  readonly #socket: Duplex;

  constructor(socket: Duplex) {
    this.#socket = socket;
    this.closed = new Promise((resolve) => (this.#resolve = resolve));
    // A connection that breaks is told by its close.
    socket.on('error', () => {});
    // HTTP servers let a connection live on when the client has ended its side; without this none would be seen to close.
    socket.once('end', () => socket.end());
    socket.once('close', () => this.#webSocket ?? this.#finish());
  }

  get isClosed(): boolean {
    return this.#closed !== undefined;
  }

  /** Reads on without a WebSocket, so that the client's leaving is seen. */
  stall(): void {
    this.#socket.resume();
  }

  /** From now on it speaks WebSocket. */
  accept(webSocket: LiveSocket, answerClose: boolean, receive: (data: Buffer, binary: boolean) => void): void {
    this.#webSocket = webSocket;
    webSocket.onCloseFrame = (code, reason) => {
      this.#end ??= {early: true, code, reason};
      return answerClose;
    };
    webSocket.on('message', (data, binary) => receive(data as Buffer, binary));
    webSocket.on('error', () => {});
    // Not the socket's own event: `ws` still reads what came before the end.
    webSocket.once('close', () => this.#finish());
  }

  /** Does nothing where the connection is not open. */
  send(data: string | Uint8Array, binary: boolean): void {
    if (this.#webSocket?.readyState === WebSocket.OPEN) this.#webSocket.send(data, {binary});
  }

  /** Puts all that is sent meanwhile into one TCP write. */
  together(sends: () => void): void {
    this.#socket.cork();
    try {
      sends();
    } finally {
      this.#socket.uncork();
    }
  }

  /** Waits in real time; gives `false` where the connection is gone before. */
  async delay(ms: number): Promise<boolean> {
    if (this.isClosed) return false;
    return new Promise((resolve) => {
      const end = (alive: boolean): void => {
        clearTimeout(timer);
        this.#socket.off('close', gone);
        resolve(alive);
      };
      const gone = (): void => end(false);
      const timer = setTimeout(() => end(true), ms);
      this.#socket.once('close', gone);
    });
  }

  pauseReading(): void {
    this.#webSocket?.pause();
  }

  resumeReading(): void {
    this.#webSocket?.resume();
  }

  /** Closes with a frame; where there is no WebSocket yet, as `drop`. */
  close(code: number, reason: string): void {
    if (!this.#webSocket) return this.drop();
    const told = cut(reason);
    this.#webSocket.end(code, told);
    this.#end ??= {early: false, code, reason: told};
  }

  /** Ends the TCP connection, and says nothing. */
  drop(): void {
    this.own();
    this.#socket.destroy();
  }

  /** From now on the end is the server's own doing. */
  own(): void {
    this.#end ??= {early: false, code: 1006, reason: ''};
  }

  #finish(): void {
    this.#closed = {...(this.#end ?? {early: true, code: 1006, reason: ''}), afterMs: realNow() - this.openedAt};
    this.#resolve(this.#closed);
  }
}

/** A close frame has room for 123 bytes. Google cuts off there, too. */
function cut(reason: string): string {
  const bytes = Buffer.from(reason);
  if (bytes.length <= 123) return reason;
  // Streaming leaves out a character that is not whole.
  return new TextDecoder().decode(bytes.subarray(0, 123), {stream: true});
}
