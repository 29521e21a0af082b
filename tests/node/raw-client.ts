import {once} from 'node:events';
import {connect, type Socket} from 'node:net';

/** A client that says exactly the bytes that it is told to, and keeps what comes back. */
export class RawClient implements Disposable {
  readonly socket: Socket;
  #text = '';

  private constructor(socket: Socket) {
    this.socket = socket;
    socket.on('error', () => {});
    socket.setEncoding('latin1').on('data', (text: string) => (this.#text += text));
  }

  static async connect(port: number, said = ''): Promise<RawClient> {
    const socket = connect(port, '127.0.0.1');
    await once(socket, 'connect');
    const client = new RawClient(socket);
    client.say(said);
    return client;
  }

  /** All that came so far. */
  get text(): string {
    return this.#text;
  }

  say(text: string): void {
    this.socket.write(text, 'latin1');
  }

  /** What came, as soon as it matches. Rejects when the connection ends before. */
  until(pattern: RegExp): Promise<string> {
    return new Promise((resolve, reject) => {
      const settle = (act: () => void): void => {
        this.socket.off('data', look).off('close', onClose);
        act();
      };
      const look = (): void => {
        if (pattern.test(this.#text)) settle(() => resolve(this.#text));
      };
      const onClose = (): void => settle(() => reject(new Error(`The connection ended before ${pattern}:\n${this.#text}`)));
      this.socket.on('data', look).on('close', onClose);
      look();
      if (this.socket.closed) onClose();
    });
  }

  /** All that came, once the server has closed the connection. */
  async ended(): Promise<string> {
    // Not `once` of Node's, which fails where the server broke the connection.
    if (!this.socket.closed) await new Promise<unknown>((resolve) => this.socket.once('close', resolve));
    return this.#text;
  }

  /** Leaves at once, whatever is under way. */
  leave(): void {
    this.socket.destroy();
  }

  [Symbol.dispose](): void {
    this.leave();
  }
}

/** The first line of an answer. */
export function statusLine(text: string): string {
  return text.slice(0, text.indexOf('\r\n'));
}
