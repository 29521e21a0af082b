import type {RawData, WebSocket} from 'ws';

import type {ModelError} from '../../errors.ts';
import {refusal} from '../gemini-errors.ts';
import {closedError, closeError, socketError} from './live-errors.ts';
import type {LiveTrace, Redact} from './live-trace.ts';

/** Who is told what happens on a socket. */
export interface LiveSocketOwner {
  opened(): void;
  /** A message came; the text of it, whatever kind of frame it was. */
  received(text: string): void;
  /** Any frame came, a pong included. */
  frame(): void;
  /** It is over, once; nothing is told afterwards. `undefined`: it was closed from here. */
  ended(error: ModelError | undefined): void;
}

/** How much of a refusal's body is read, in characters. */
const maxRefusal = 65_536;

/** A WebSocket whose end has one reason, which all that waits is told at once. */
export class LiveSocket {
  readonly #ws: WebSocket;
  readonly #owner: LiveSocketOwner;
  readonly #trace: LiveTrace;
  readonly #redact: Redact;
  readonly #pending = new Set<(error: ModelError) => void>();
  readonly #gone = Promise.withResolvers<void>();
  #opened = false;
  #ended = false;
  #failure: ModelError | undefined;
  /** Whether the server has taken the setup: a close means something else before. */
  established = false;

  constructor(ws: WebSocket, owner: LiveSocketOwner, trace: LiveTrace, redact: Redact) {
    this.#ws = ws;
    this.#owner = owner;
    this.#trace = trace;
    this.#redact = redact;
    ws.on('open', () => this.#onOpen());
    ws.on('message', (data) => this.#onMessage(data));
    ws.on('ping', () => this.#onFrame());
    ws.on('pong', () => this.#onFrame());
    ws.on('unexpected-response', (_, response) => void this.#onRefused(response.statusCode ?? 0, response.setEncoding('utf8')));
    ws.on('error', (error) => this.fail(socketError(error, redact)));
    ws.on('close', (code, reason) => {
      this.#end(closeError(code, redact(textOf(reason)), this.established), `${code} ${textOf(reason)}`);
      this.#gone.resolve();
    });
  }

  /** Resolves when the operating system has taken the message: a peer that does not read makes this wait. */
  send(text: string): Promise<void> {
    const sent = Promise.withResolvers<void>();
    if (this.#ended) sent.reject(closedError(this.#failure));
    else {
      this.#pending.add(sent.reject);
      this.#trace.emit('sent', text);
      this.#ws.send(text, (error) => {
        // What cannot be sent any more is rejected at the end, which comes soon: only then is it known why.
        if (error) return;
        this.#pending.delete(sent.reject);
        sent.resolve();
      });
    }
    return sent.promise;
  }

  ping(): void {
    if (!this.#ended) this.#ws.ping();
  }

  /** Gives the connection up for this reason. */
  fail(error: ModelError): void {
    this.#end(error, `1000 ${error.code}`);
  }

  /** Closes the connection at once, opened or not. Resolves when the socket is gone. */
  close(): Promise<void> {
    this.#end(undefined, '1000');
    return this.#gone.promise;
  }

  #onOpen(): void {
    this.#opened = true;
    if (this.#ended) return;
    this.#trace.emit('opened', this.#ws.url);
    this.#owner.opened();
  }

  #onMessage(data: RawData): void {
    // What was on its way when the connection ended comes nevertheless.
    if (this.#ended) return;
    const text = textOf(data);
    this.#trace.emit('received', text);
    this.#onFrame();
    // The hook may have closed the connection.
    if (!this.#ended) this.#owner.received(text);
  }

  #onFrame(): void {
    if (!this.#ended) this.#owner.frame();
  }

  async #onRefused(status: number, body: AsyncIterable<unknown>): Promise<void> {
    let text = '';
    try {
      for await (const chunk of body) {
        text += String(chunk);
        if (text.length > maxRefusal) break;
      }
    } catch {
      // The status and what was read say enough.
    }
    this.fail(refusal(status, this.#redact(text)));
  }

  #end(failure: ModelError | undefined, how: string): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#failure = failure;
    if (this.#opened) {
      this.#trace.emit('closed', how.trim());
      this.#ws.close(1000);
    }
    // A closing handshake would wait for the peer for as long as the peer likes.
    this.#ws.terminate();
    for (const reject of this.#pending) reject(closedError(failure));
    this.#pending.clear();
    this.#owner.ended(failure);
  }
}

/** The text of a frame: the server sends its JSON in binary frames. */
export function textOf(data: RawData): string {
  const pieces = Array.isArray(data) ? data : [data];
  const decoder = new TextDecoder();
  return pieces.map((piece) => decoder.decode(piece, {stream: true})).join('') + decoder.decode();
}
