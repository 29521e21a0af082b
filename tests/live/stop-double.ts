/** A model whose live connections play a script, without a socket: all that happens happens in promise jobs. */
import {BaseLlm, BaseLlmConnection, ModelError, type Content, type LlmResponse} from 'sluice';
import type {RealtimeInput} from '../../lib/models/base-llm-connection.ts';

/** The server's side of a connection. */
export type DoubleScript = (connection: DoubleConnection) => Promise<void>;

export class DoubleLlm extends BaseLlm {
  readonly connections: DoubleConnection[] = [];
  readonly #scripts: readonly DoubleScript[];
  readonly #note: (what: string) => void;
  readonly #make: (note: (what: string) => void) => DoubleConnection | Promise<DoubleConnection>;

  /**
   * @param note - told of all that the run does with the model
   * @param make - makes a connection. Default: one that behaves
   */
  constructor(
    scripts: readonly DoubleScript[],
    note: (what: string) => void,
    make: (note: (what: string) => void) => DoubleConnection | Promise<DoubleConnection> = (told) => new DoubleConnection(told),
  ) {
    super({model: 'double'});
    this.#scripts = scripts;
    this.#note = note;
    this.#make = make;
  }

  override async *generateContentAsync(): AsyncGenerator<LlmResponse, void, undefined> {
    throw new ModelError('Live only', {code: 'UNSUPPORTED'});
  }

  override async connect(): Promise<BaseLlmConnection> {
    this.#note('connect');
    const connection = await this.#make(this.#note);
    const script = this.#scripts[this.connections.push(connection) - 1];
    void script?.(connection);
    return connection;
  }
}

export class DoubleConnection extends BaseLlmConnection {
  /** What came, such as `turn go` or `answer a b`. */
  readonly sent: string[] = [];
  readonly #note: (what: string) => void;
  readonly #unread: LlmResponse[] = [];
  #heard = 0;
  #wakeScript: () => void = () => {};
  #wakeReader: () => void = () => {};
  #end: {readonly error?: ModelError} | undefined;

  constructor(note: (what: string) => void) {
    super();
    this.#note = note;
  }

  get isClosed(): boolean {
    return this.#end !== undefined;
  }

  sendHistory(history: readonly Content[]): Promise<void> {
    return this.#send(`history ${history.length}`);
  }

  sendContent({parts = []}: Content): Promise<void> {
    const said = parts.map(({text, functionResponse}) => functionResponse?.name ?? text);
    return this.#send(`${parts.some((part) => part.functionResponse) ? 'answer' : 'turn'} ${said.join(' ')}`);
  }

  sendRealtime(input: RealtimeInput): Promise<void> {
    return this.#send(Object.keys(input).join(' '));
  }

  async *receive(): AsyncGenerator<LlmResponse, void, undefined> {
    for (;;) {
      const response = this.#unread.shift();
      if (response) yield response;
      else if (this.#end?.error) throw this.#end.error;
      else if (this.#end) return;
      else await new Promise<void>((resolve) => (this.#wakeReader = resolve));
    }
  }

  async close(): Promise<void> {
    this.#unread.length = 0;
    this.#finish({});
  }

  /** Waits for something that the client sends, and takes it and all before it. */
  async heard(what: string): Promise<void> {
    for (;;) {
      const at = this.sent.indexOf(what, this.#heard);
      if (at >= 0) {
        this.#heard = at + 1;
        return;
      }
      await new Promise<void>((resolve) => (this.#wakeScript = resolve));
    }
  }

  says(...responses: readonly LlmResponse[]): void {
    if (this.#end) return;
    this.#unread.push(...responses);
    this.#wakeReader();
  }

  /** The connection breaks; what was said before can still be read. */
  lose(): void {
    this.#finish({error: new ModelError('The connection was lost', {code: 'CONNECTION_LOST', retryable: true})});
  }

  #finish(end: {readonly error?: ModelError}): void {
    this.#end ??= end;
    this.#wakeReader();
  }

  async #send(what: string): Promise<void> {
    if (this.#end) throw new ModelError('The connection is closed', {code: 'CONNECTION_CLOSED'});
    this.#note(`send ${what}`);
    this.sent.push(what);
    this.#wakeScript();
  }
}
