import {narrateResponse} from '../agents/llm/history-narration.ts';
import type {Content, FunctionCall, FunctionResponse, LiveServerSessionResumptionUpdate} from '../content.ts';

/** Something that was said to the model: a turn of the user, or the answers to calls. */
export type LiveMessage =
  | {readonly kind: 'turn'; readonly content: Content; readonly eventId: string}
  | {readonly kind: 'answer'; readonly calls: readonly Pick<FunctionCall, 'id'>[]; readonly responses: readonly FunctionResponse[]};

/** What a new connection is told. */
export interface Greeting {
  /** Whether its server remembers nothing. */
  readonly isNew: boolean;
  readonly isFirst: boolean;
  /** What is said once more. */
  readonly again: readonly LiveMessage[];
  /** The Events of turns that are said once more, or have not been said yet. */
  readonly turns: ReadonlySet<string>;
}

/**
 * What a server still knows after a connection was lost. It resumes at the newest handle that it has offered, and what was said after that
 * is lost to it: turns that it has not answered are said again, and answers to calls that it does not remember are told in words.
 */
export class LiveMemory {
  readonly #agentName: string;
  readonly #calls = new Set<string>();
  /** The calls that the server of the current connection knows, and those that a server would know that resumes at the handle. */
  #known: ReadonlySet<string> = new Set();
  #knownAtHandle: ReadonlySet<string> = new Set();
  /** What was sent since the last handle: before the model began the turn that it is in, and since. */
  #answering: LiveMessage[] = [];
  #unanswered: LiveMessage[] = [];
  readonly #sending = new Set<LiveMessage>();
  #handle: string | undefined;
  #isFirst = true;

  constructor(agentName: string, handle: string | undefined) {
    this.#agentName = agentName;
    this.#handle = handle;
  }

  /** Where the next connection goes on. */
  get handle(): string | undefined {
    return this.#handle;
  }

  /** A new connection begins, from the handle that there is. Returns what must be told to it, in order. */
  connected(): Greeting {
    const isFirst = this.#isFirst;
    this.#isFirst = false;
    this.#known = this.#handle === undefined ? new Set() : this.#knownAtHandle;
    this.#unanswered = [...this.#answering, ...this.#unanswered];
    this.#answering = [];
    const turns = [...this.#unanswered, ...this.#sending].flatMap((message) => (message.kind === 'turn' ? message.eventId : []));
    return {isNew: this.#handle === undefined, isFirst, again: [...this.#unanswered], turns: new Set(turns)};
  }

  /** Whether a call of this conversation has this id. */
  hasCall(id: string): boolean {
    return this.#calls.has(id);
  }

  /** The server offers a handle; while it cannot, the one before it stays the newest. */
  offered({newHandle, resumable}: LiveServerSessionResumptionUpdate): void {
    if (!newHandle || resumable === false) return;
    this.#handle = newHandle;
    this.#knownAtHandle = this.#known;
    this.#answering = [];
    this.#unanswered = [];
  }

  /** The model makes these calls now. */
  called(calls: readonly FunctionCall[]): void {
    const ids = calls.flatMap(({id}) => id ?? []);
    for (const id of ids) this.#calls.add(id);
    this.#known = new Set([...this.#known, ...ids]);
  }

  /** A message is about to be sent; the function that it returns says that it was. */
  sending(message: LiveMessage): () => void {
    this.#sending.add(message);
    return () => {
      this.#sending.delete(message);
      this.#unanswered.push(message);
    };
  }

  /** The model begins to speak, and answers what was said by now. */
  began(): void {
    this.#answering.push(...this.#unanswered.splice(0));
  }

  /** The turn is complete. What was said while the model spoke is still to be answered. */
  completed(): void {
    this.#answering = [];
  }

  /** A message as the current connection understands it. */
  toContent(message: LiveMessage): Content {
    if (message.kind === 'turn') return message.content;
    const known = message.calls.every(({id = ''}) => this.#known.has(id));
    if (known) return {role: 'user', parts: message.responses.map((functionResponse) => ({functionResponse}))};
    return {role: 'user', parts: message.responses.flatMap((response) => narrateResponse(this.#agentName, response))};
  }
}
