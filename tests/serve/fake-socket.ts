import type {Host, ServerSocket, Upgrade} from 'sluice/serve';

type Listener = (event: never) => void;

/** The server's side of a WebSocket, played by the test. */
export class FakeSocket implements ServerSocket {
  /** How many bytes the client has not taken. */
  behind = 0;
  /** How often somebody has looked at that. */
  looks = 0;
  readyState: number;
  readonly sent: unknown[] = [];
  /** The code and the reason with which the server closed. */
  readonly closed: Promise<readonly [number | undefined, string | undefined]>;
  readonly #close: (code: readonly [number | undefined, string | undefined]) => void;
  readonly #listeners = new Map<string, Set<Listener>>();
  readonly #waiting: (() => void)[] = [];

  constructor(readyState = 1) {
    this.readyState = readyState;
    const {promise, resolve} = Promise.withResolvers<readonly [number | undefined, string | undefined]>();
    this.closed = promise;
    this.#close = resolve;
  }

  get bufferedAmount(): number {
    this.looks++;
    for (const wake of this.#waiting.splice(0)) wake();
    return this.behind;
  }

  send(data: string): void {
    if (this.readyState !== 1) throw new DOMException('The socket is not open', 'InvalidStateError');
    this.sent.push(JSON.parse(data));
    for (const wake of this.#waiting.splice(0)) wake();
  }

  close(code?: number, reason?: string): void {
    this.readyState = 3;
    this.#close([code, reason]);
  }

  addEventListener(type: string, listener: Listener): void {
    const listeners = this.#listeners.get(type) ?? new Set();
    this.#listeners.set(type, listeners.add(listener));
  }

  emit(type: 'message' | 'open' | 'close' | 'error', data?: unknown): void {
    if (type === 'open') this.readyState = 1;
    if (type === 'close') this.readyState = 3;
    for (const listener of this.#listeners.get(type) ?? []) listener({data} as never);
  }

  /** A message of the client. */
  say(message: unknown): void {
    this.emit('message', JSON.stringify(message));
  }

  untilSent(count: number): Promise<void> {
    return this.until(() => this.sent.length >= count);
  }

  /** Resolves when it holds; asked again after each message, and each look at what is behind. */
  async until(holds: () => boolean): Promise<void> {
    while (!holds()) await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  /** A host that upgrades to this socket. */
  get host(): Host & {readonly response: Response} {
    const response = new Response(null);
    return {response, upgradeWebSocket: (): Upgrade => ({socket: this, response})};
  }
}
