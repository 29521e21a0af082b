import {Timers} from '../async/timers.ts';
import type {ServerSocket} from './handler.ts';

/** What a client may have to take before more is sent to it, in bytes. */
const HIGH_WATER_MARK = 1024 * 1024;

/** Sockets do not say when a client has caught up: they are looked at so often, in milliseconds. */
const LOOK_MS = 10;

/** A client's WebSocket: sends no faster than the client takes it, and knows when it is gone. */
export class LiveSocket {
  readonly #socket: ServerSocket;
  readonly #timers = new Timers();
  /** What waits for the socket to open, or for the client to catch up. */
  #wake: (() => void) | undefined;
  #isOpen: boolean;
  #isClosed = false;

  /**
   * @param onMessage - gets what a client says, until the socket is closed
   * @param onGone - called once when the client has left, and not where the server closes
   */
  constructor(socket: ServerSocket, onMessage: (data: unknown) => void, onGone: () => void) {
    this.#socket = socket;
    this.#isOpen = socket.readyState !== 0;
    socket.addEventListener('open', () => {
      this.#isOpen = true;
      this.#wake?.();
    });
    socket.addEventListener('message', ({data}) => {
      if (!this.#isClosed) onMessage(data);
    });
    const gone = (): void => {
      if (this.#end()) onGone();
    };
    socket.addEventListener('close', gone);
    socket.addEventListener('error', gone);
  }

  /** Whether nothing can be sent any more. */
  get closed(): boolean {
    return this.#isClosed;
  }

  /** Sends once the socket is open, and resolves when the client is near enough behind, or gone. For one caller at a time. */
  async send(message: string): Promise<void> {
    while (!this.#isOpen && !this.#isClosed) await this.#wait();
    this.#try(() => this.#socket.send(message));
    while (!this.#isClosed && (this.#socket.bufferedAmount ?? 0) > HIGH_WATER_MARK) await this.#wait(LOOK_MS);
  }

  /** Closes it, with a last message before where there is one. Does nothing where it is closed. */
  close(code: number, reason: string, message?: string): void {
    if (message !== undefined && this.#isOpen) this.#try(() => this.#socket.send(message));
    this.#try(() => this.#socket.close(code, shortened(reason)));
    this.#end();
  }

  /** A socket throws where the client has just gone; its `close` event comes, or has come. */
  #try(act: () => void): void {
    if (this.#isClosed) return;
    try {
      act();
    } catch {
      return;
    }
  }

  #wait(ms = Infinity): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
      this.#timers.set(ms, resolve);
    });
  }

  /** Whether this is its end. */
  #end(): boolean {
    if (this.#isClosed) return false;
    this.#isClosed = true;
    this.#timers.clear();
    this.#wake?.();
    return true;
  }
}

/** A reason may have 123 bytes. */
function shortened(reason: string): string {
  return reason.slice(0, new TextEncoder().encodeInto(reason, new Uint8Array(123)).read);
}
