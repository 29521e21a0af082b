import type {WebSocket} from 'ws';

import type {Content} from '../../content.ts';
import {ModelError} from '../../errors.ts';
import {BaseLlmConnection, type RealtimeInput} from '../../models/base-llm-connection.ts';
import type {LlmResponse} from '../../models/llm-response.ts';
import {isRecord} from '../../schema/is-record.ts';
import {asksForAnswer, type ClientMessage, contentMessage, historyTurns, realtimeMessage} from './client-message.ts';
import {closedError, unreadable} from './live-errors.ts';
import {LiveInbox} from './live-inbox.ts';
import {LiveSocket} from './live-socket.ts';
import type {LiveTrace, Redact} from './live-trace.ts';
import {LiveWatchdog} from './live-watchdog.ts';
import {type ServerMessage, toLlmResponse} from './server-message.ts';

/** What a connection needs besides its socket. */
export interface GeminiLiveSession {
  /** The setup message. */
  readonly setup: string;
  readonly vertexai: boolean;
  /** Whether what is said first counts as history, which is not replied to. */
  readonly historyFirst: boolean;
  readonly idleMs: number;
  readonly trace: LiveTrace;
  readonly redact: Redact;
}

/** A connection to the Live API. It takes its socket while that is still connecting, so that there is one owner from the start. */
export class GeminiLiveConnection extends BaseLlmConnection {
  /** Resolves when the server has taken the setup. */
  readonly ready: Promise<void>;
  readonly #session: GeminiLiveSession;
  readonly #socket: LiveSocket;
  readonly #inbox = new LiveInbox<LlmResponse>();
  readonly #established = Promise.withResolvers<void>();
  #watchdog: LiveWatchdog | undefined;
  #received = false;

  constructor(ws: WebSocket, session: GeminiLiveSession) {
    super();
    this.#session = session;
    this.ready = this.#established.promise;
    // Who connects may have left by the time it fails.
    this.ready.catch(() => {});
    const owner = {
      opened: () => this.#onOpened(),
      received: (text: string) => this.#onReceived(text),
      frame: () => this.#watchdog?.frame(),
      ended: (error: ModelError | undefined) => this.#onEnded(error),
    };
    this.#socket = new LiveSocket(ws, owner, session.trace, session.redact);
  }

  async sendHistory(history: readonly Content[]): Promise<void> {
    const turns = historyTurns(history);
    const {historyFirst} = this.#session;
    if (turns.length > 0 || historyFirst) await this.#send({clientContent: {turns, turnComplete: historyFirst}}, false);
  }

  async sendContent(content: Content): Promise<void> {
    const message = contentMessage(content, this.#session.vertexai);
    await this.#send(message, asksForAnswer(message));
  }

  async sendRealtime(input: RealtimeInput): Promise<void> {
    await this.#send(realtimeMessage(input), false);
  }

  receive(): AsyncGenerator<LlmResponse, void, undefined> {
    if (this.#received) throw new ModelError('Expected `receive` to be called once, got a second call', {code: 'ALREADY_RECEIVING'});
    this.#received = true;
    return this.#inbox;
  }

  close(): Promise<void> {
    return this.#socket.close();
  }

  async #send(message: ClientMessage, asks: boolean): Promise<void> {
    const text = JSON.stringify(message);
    // Before it is sent: the answer may be there before the word that it was taken.
    if (asks) this.#watchdog?.asked();
    await this.#socket.send(text);
  }

  #onOpened(): void {
    // If it cannot be sent, the socket has ended.
    this.#socket.send(this.#session.setup).catch(() => {});
  }

  #onReceived(text: string): void {
    const message = parse(text);
    if (message === undefined) return this.#socket.fail(unreadable(text, this.#session.redact));
    const response = toLlmResponse(message);
    if (response !== undefined) this.#inbox.push(response);
    this.#watchdog?.message(owesMore(message));
    if (isRecord(message.setupComplete) && !this.#socket.established) this.#onEstablished();
  }

  #onEstablished(): void {
    this.#socket.established = true;
    this.#watchdog = new LiveWatchdog(this.#session.idleMs, {
      ping: () => this.#socket.ping(),
      give: (error) => this.#socket.fail(error),
    });
    this.#established.resolve();
  }

  #onEnded(error: ModelError | undefined): void {
    this.#watchdog?.stop();
    if (error === undefined) this.#inbox.end();
    else this.#inbox.fail(error);
    this.#established.reject(error ?? closedError(undefined));
  }
}

function parse(text: string): ServerMessage | undefined {
  try {
    const message: unknown = JSON.parse(text);
    return isRecord(message) ? message : undefined;
  } catch {
    return undefined;
  }
}

/** Whether the model is in the middle of its output; nothing where the message does not tell. */
function owesMore({serverContent, toolCall}: ServerMessage): boolean | undefined {
  const {turnComplete, interrupted, generationComplete, modelTurn} = serverContent ?? {};
  if (turnComplete || interrupted || generationComplete || toolCall) return false;
  return modelTurn ? true : undefined;
}
