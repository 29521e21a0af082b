import {realNow, type LiveConnection, type LiveSocket} from './gemini-live-server-connection.ts';
import {LiveInbox, parseObject, readBody} from './gemini-live-server-inbox.ts';
import type {LiveRefusal, LiveServerRequest} from './gemini-live-server-request.ts';
import {LiveRules, type LiveHandles} from './gemini-live-server-rules.ts';

/** How a session is held. */
export interface LiveCoreOptions {
  readonly noise: boolean;
  readonly strict: boolean;
  readonly answerClose: boolean;
  readonly handles: LiveHandles;
}

/** What lies below a session: its connection, what came and what went, and the judgement of both. */
export class LiveCore {
  readonly index: number;
  readonly request: LiveServerRequest;
  readonly connection: LiveConnection;
  readonly inbox: LiveInbox = new LiveInbox();
  refusal: LiveRefusal | undefined;
  /** What the script threw. */
  scriptError: unknown;
  readonly #options: LiveCoreOptions;
  readonly #rules: LiveRules;
  #sent = 0;
  #callIds = 0;

  constructor(index: number, request: LiveServerRequest, connection: LiveConnection, options: LiveCoreOptions) {
    this.index = index;
    this.request = request;
    this.connection = connection;
    this.#options = options;
    this.#rules = new LiveRules({...options, backend: request.backend});
    void connection.closed.then(({code}) => this.inbox.close(`The session was closed (${code})`));
  }

  accept(webSocket: LiveSocket): void {
    this.connection.accept(webSocket, this.#options.answerClose, (data, binary) => this.#receive(data, binary));
  }

  /** Sends a message in Google's framing. After every second one comes an empty one, where there is noise. */
  send(message: Readonly<Record<string, unknown>>): void {
    this.#rules.sent(message);
    this.connection.send(framed(message), true);
    this.#sent += 1;
    if (this.#options.noise && this.#sent % 2 === 0) this.connection.send(framed({}), true);
  }

  /** An id in the form of Gemini 2.5, another one each time. */
  newCallId(): string {
    this.#callIds += 1;
    return `function-call-${1_000_000_000_000_000_000n + BigInt(this.index) * 1_000_000n + BigInt(this.#callIds)}`;
  }

  /** Closes, and keeps why. */
  refuse(refusal: LiveRefusal): void {
    this.refusal ??= refusal;
    this.connection.close(refusal.code, refusal.reason);
  }

  #receive(data: Buffer, binary: boolean): void {
    const text = data.toString('utf8');
    const body = parseObject(text) ?? {};
    const message = {index: this.inbox.received.length, ...readBody(body), body, text, binary, receivedAt: realNow()};
    // Before the message is handed out: its taker may answer at once.
    const refusal = this.refusal ? undefined : this.#rules.refusalOf(message);
    if (refusal) this.refuse(refusal);
    this.inbox.add(message);
  }
}

/** Pretty JSON and a line feed; it goes into a binary frame. */
function framed(message: Readonly<Record<string, unknown>>): Buffer {
  return Buffer.from(`${JSON.stringify(message, null, 2)}\n`);
}
