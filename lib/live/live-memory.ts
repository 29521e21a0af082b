import type {Content, FunctionCall, FunctionResponse, LiveServerSessionResumptionUpdate} from '../content.ts';

/** Something that was said to the model: a turn of the user, or the answers to calls. */
export type LiveMessage =
  | {readonly kind: 'turn'; readonly content: Content; readonly eventId: string}
  | {readonly kind: 'answer'; readonly calls: readonly Pick<FunctionCall, 'id'>[]; readonly responses: readonly FunctionResponse[]};

/** What a new connection is told. */
export interface Greeting {
  readonly isFirst: boolean;
  /** The session's Events that its server does not know: those behind one of them, or all; `undefined` where it knows all. */
  readonly untold: {readonly after: string | undefined} | undefined;
  /** What was said and not answered, in order. */
  readonly again: readonly LiveMessage[];
  /** The Events of turns that are about to be said. */
  readonly unsaid: readonly string[];
}

export interface LiveMemoryOptions {
  /** Where the first connection goes on. */
  readonly handle: string | undefined;
  /** The session's last Event. */
  readonly lastEventId: string | undefined;
  /** Whether handles are used at all. */
  readonly resumes: boolean;
  /** What is to be answered from the start on. */
  readonly asked?: LiveMessage | undefined;
}

/** The first so many calls that were made over one connection. */
interface Span {
  readonly connection: number;
  readonly calls: number;
}

/**
 * What a server still knows after a connection was lost. It resumes at the newest handle that it has offered, and what was said after that
 * is lost to it: it is told that, what it has not answered is said again, and answers to calls that it does not remember are told in words.
 */
export class LiveMemory {
  readonly #resumes: boolean;
  /** Over which connection each call was made, and as which of its calls. */
  readonly #calls = new Map<string, {readonly connection: number; readonly at: number}>();
  #connection = 0;
  #made = 0;
  /** Of earlier connections, what the server of this one knows, and what one would know that resumes at the handle. */
  #known: readonly Span[] = [];
  #knownAtHandle: readonly Span[] = [];
  /** What was sent since the last handle: before the model began the turn that it is in, and since. */
  #answering: LiveMessage[] = [];
  #unanswered: LiveMessage[] = [];
  readonly #sending = new Set<LiveMessage>();
  #handle: string | undefined;
  #isFirst = true;
  /** The last Event that a server knows that resumes at the handle, and whether anything was said since. */
  #lastKnown: string | undefined;
  #isBehind = false;
  /** What the current connection is being told, until it has heard it. */
  #greeting: Greeting | undefined;

  constructor({handle, lastEventId, resumes, asked}: LiveMemoryOptions) {
    this.#handle = handle;
    if (asked) this.#unanswered.push(asked);
    this.#lastKnown = lastEventId;
    this.#resumes = resumes;
  }

  /** Where the next connection goes on. */
  get handle(): string | undefined {
    return this.#handle;
  }

  /** Whether a server that resumes at the handle would not know all that was said. */
  get isBehind(): boolean {
    return this.#handle !== undefined && this.#isBehind;
  }

  /** A new connection begins, from the handle that there is. Returns what must be told to it, in order. */
  connected(): Greeting {
    const isFirst = this.#isFirst;
    this.#isFirst = false;
    this.#known = this.#handle === undefined ? [] : this.#knownAtHandle;
    this.#connection++;
    this.#made = 0;
    this.#unanswered = [...this.#answering, ...this.#unanswered];
    this.#answering = [];
    const unsaid = [...this.#sending].flatMap((message) => (message.kind === 'turn' ? message.eventId : []));
    const isNew = this.#handle === undefined;
    const untold = isNew ? {after: undefined} : this.#isBehind ? {after: this.#lastKnown} : undefined;
    this.#greeting = {isFirst, untold, again: [...this.#unanswered], unsaid};
    return this.#greeting;
  }

  /** The new connection has been told. */
  greeted(): void {
    this.#greeting = undefined;
  }

  /** Whether a call of this conversation has this id. */
  hasCall(id: string): boolean {
    return this.#calls.has(id);
  }

  /**
   * The server offers a handle; while it cannot, the one before it stays the newest.
   *
   * @param lastEventId - of the last Event of what was said by now
   */
  offered({newHandle, resumable}: LiveServerSessionResumptionUpdate, lastEventId: string | undefined): void {
    if (!newHandle || resumable === false || !this.#resumes) return;
    this.#handle = newHandle;
    this.#knownAtHandle = [...this.#known, {connection: this.#connection, calls: this.#made}];
    if (this.#greeting) {
      // It holds nothing of what its server is only being told.
      const {untold, again} = this.#greeting;
      if (untold) this.#lastKnown = untold.after;
      this.#isBehind = untold !== undefined || again.length > 0;
      return;
    }
    this.#lastKnown = lastEventId ?? this.#lastKnown;
    this.#isBehind = false;
    this.#answering = [];
    this.#unanswered = [];
  }

  /** The model makes these calls now. */
  called(calls: readonly FunctionCall[]): void {
    for (const {id} of calls) if (id !== undefined) this.#calls.set(id, {connection: this.#connection, at: this.#made++});
  }

  /** Whether the server of the current connection knows a call. */
  knows(id: string): boolean {
    const call = this.#calls.get(id);
    if (call?.connection === this.#connection) return true;
    return call !== undefined && this.#known.some(({connection, calls}) => connection === call.connection && call.at < calls);
  }

  /** A message is about to be sent; the function that it returns says that it was. */
  sending(message: LiveMessage): () => void {
    this.#sending.add(message);
    return () => {
      this.#sending.delete(message);
      this.#unanswered.push(message);
      this.#isBehind = true;
    };
  }

  /** The model begins to speak, and answers what was said by now. */
  began(): void {
    this.#answering.push(...this.#unanswered.splice(0));
    this.#isBehind = true;
  }

  /** The turn is complete. What was said while the model spoke is still to be answered. */
  completed(): void {
    this.#answering = [];
  }
}
