import type {Transport} from '@modelcontextprotocol/sdk/shared/transport.js';
import type {JSONRPCMessage, RequestId} from '@modelcontextprotocol/sdk/types.js';
import {ServerProcess} from './child-process.ts';
import type {StdioServerParameters} from './connection-params.ts';
import {LineBuffer} from './line-buffer.ts';
import {LostRequest} from './lost-request.ts';
import {answeredIdOf, cancelledIdOf, requestIdOf} from './message-ids.ts';

/**
 * MCP over the stdin and stdout of a child process. The SDK has such a transport too; this one is sure that the process ends, says why it
 * did, and does not keep a program from exiting while nobody waits for an answer.
 */
export class StdioTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;
  readonly #params: StdioServerParameters;
  readonly #lines: LineBuffer;
  readonly #unanswered = new Set<RequestId>();
  #process: ServerProcess | undefined;
  /** Settled when what came so far is handed over. */
  #delivered: Promise<void> = Promise.resolve();

  constructor(params: StdioServerParameters) {
    this.#params = params;
    this.#lines = new LineBuffer(params.maxBufferSize ?? 64 * 1024 * 1024);
  }

  /** Why the server has ended. */
  get endReason(): string | undefined {
    return this.#process?.reason;
  }

  async start(): Promise<void> {
    this.#process = new ServerProcess(this.#params, {
      received: (chunk) => this.#received(chunk),
      gone: () => this.#deliver(() => this.onclose?.()),
    });
    await this.#process.started();
  }

  async send(message: JSONRPCMessage): Promise<void> {
    const cancelled = cancelledIdOf(message);
    if (cancelled !== undefined) this.#unanswered.delete(cancelled);
    const id = requestIdOf(message);
    if (id !== undefined) this.#unanswered.add(id);
    this.#process?.hold(this.#unanswered.size > 0);
    try {
      await this.#process?.write(`${JSON.stringify(message)}\n`);
    } catch (error) {
      throw new LostRequest(false, error);
    }
  }

  async close(): Promise<void> {
    await this.#process?.end();
  }

  #received(chunk: Uint8Array): void {
    for (const line of this.#lines.push(chunk)) {
      const message = parse(line);
      if (!message) continue;
      const id = answeredIdOf(message);
      if (id !== undefined && this.#unanswered.delete(id)) this.#process?.hold(this.#unanswered.size > 0);
      this.#deliver(() => this.onmessage?.(message));
    }
  }

  /** The SDK takes up a notification a tick later, and would not know it any more if the answer came in the same tick. */
  #deliver(hand: () => void): void {
    this.#delivered = this.#delivered.then(hand).catch((error: unknown) => this.onerror?.(error as Error));
  }
}

/** A line as a message; nothing for what a server prints among its messages, such as a greeting. */
function parse(line: string): JSONRPCMessage | undefined {
  if (!line.startsWith('{')) return undefined;
  try {
    const message = JSON.parse(line) as JSONRPCMessage;
    return message.jsonrpc === '2.0' ? message : undefined;
  } catch {
    return undefined;
  }
}
