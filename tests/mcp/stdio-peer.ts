import {createServer, type AddressInfo, type Server, type Socket} from 'node:net';
import {createInterface} from 'node:readline';
import {fileURLToPath} from 'node:url';
import type {StdioConnectionParams, StdioServerParameters} from 'sluice/mcp';

export interface Message {
  readonly id?: number | string;
  readonly method: string;
  readonly params?: Record<string, unknown>;
}

/** Answers of a server that behaves, by method. What is missing is left to the test. */
export type Answers = Readonly<Record<string, (message: Message) => unknown>>;

export const initialize = ({params}: Message): unknown => ({
  protocolVersion: params?.['protocolVersion'],
  capabilities: {tools: {listChanged: true}},
  serverInfo: {name: 'peer', version: '1'},
});

/** Lists these tools, each with a schema of its own kind or of none. */
export function tools(...list: readonly (string | Record<string, unknown>)[]): Answers {
  const listed = list.map((tool) => ({inputSchema: {type: 'object'}, ...(typeof tool === 'string' ? {name: tool} : tool)}));
  return {initialize, 'tools/list': () => ({tools: listed})};
}

/** What the progress of a call is told under. */
export function progressTokenOf({params}: Message): unknown {
  return (params?.['_meta'] as {progressToken: unknown} | undefined)?.progressToken;
}

/** One process of a server. */
export class StdioProcess {
  /** The methods of all that came, in order. */
  readonly methods: string[] = [];
  /** Resolves when the process is gone: its socket closes with it. */
  readonly gone: Promise<void>;
  readonly #socket: Socket;
  readonly #inbox: Message[] = [];
  readonly #waiting: {method: string; take: (message: Message) => void}[] = [];
  env: Record<string, string> = {};

  constructor(socket: Socket, answers: Answers) {
    this.#socket = socket;
    this.gone = new Promise((resolve) => socket.once('close', () => resolve()));
    socket.on('error', () => {});
    createInterface({input: socket}).on('line', (line) => {
      const message = {method: 'answer to ping', ...(JSON.parse(line) as Partial<Message> & {env?: Record<string, string>})};
      if (message.env) {
        this.env = message.env;
        return;
      }
      this.methods.push(message.method);
      const answer = answers[message.method];
      if (answer) this.answer(message, answer(message));
      const at = this.#waiting.findIndex(({method}) => method === message.method);
      if (at >= 0) this.#waiting.splice(at, 1)[0]?.take(message);
      else this.#inbox.push(message);
    });
  }

  /** The next message of a method, in the order in which they came. */
  next(method: string): Promise<Message> {
    const at = this.#inbox.findIndex((message) => message.method === method);
    const [found] = at < 0 ? [] : this.#inbox.splice(at, 1);
    if (found) return Promise.resolve(found);
    return new Promise((take) => this.#waiting.push({method, take}));
  }

  answer({id}: Message, result: unknown): void {
    this.print(JSON.stringify({jsonrpc: '2.0', id, result}));
  }

  text(message: Message, text: string): void {
    this.answer(message, {content: [{type: 'text', text}]});
  }

  refuse({id}: Message, code: number, message: string): void {
    this.print(JSON.stringify({jsonrpc: '2.0', id, error: {code, message}}));
  }

  notify(method: string, params: Record<string, unknown> = {}): void {
    this.print(JSON.stringify({jsonrpc: '2.0', method, params}));
  }

  /** Waits until the client has taken up all that was printed: it answers in order. */
  async caughtUp(): Promise<void> {
    this.print(JSON.stringify({jsonrpc: '2.0', id: 'ping', method: 'ping'}));
    await this.next('answer to ping');
  }

  /** Prints a line on the process's stdout; with a `!` it is an order to the process. */
  print(line: string): void {
    this.#socket.write(`${line}\n`);
  }
}

/** A server on stdio whose every word is the test's, in a real process. It may be started many times. */
export class StdioPeer implements AsyncDisposable {
  readonly processes: StdioProcess[] = [];
  readonly #server: Server;
  readonly #waiting: ((process: StdioProcess) => void)[] = [];
  answers: Answers;

  private constructor(answers: Answers) {
    this.answers = answers;
    this.#server = createServer((socket) => {
      const process = new StdioProcess(socket, this.answers);
      this.processes.push(process);
      this.#waiting.shift()?.(process);
    });
  }

  static async start(answers: Answers): Promise<StdioPeer> {
    const peer = new StdioPeer(answers);
    await new Promise<void>((resolve) => peer.#server.listen(0, '127.0.0.1', resolve));
    return peer;
  }

  params(more: Partial<StdioServerParameters> = {}, ...flags: readonly string[]): StdioConnectionParams {
    const {port} = this.#server.address() as AddressInfo;
    const relay = fileURLToPath(new URL('children/relay.ts', import.meta.url));
    const args = ['--no-warnings', relay, String(port), ...flags];
    return {type: 'StdioConnectionParams', serverParams: {command: process.execPath, args, ...more}};
  }

  /** The next process that is started. */
  started(): Promise<StdioProcess> {
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  /** Waits until no process is left: a test that leaves one behind does not end. */
  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.processes.map(({gone}) => gone));
    await new Promise((resolve) => this.#server.close(resolve));
  }
}
