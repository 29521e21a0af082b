/** The kinds of what a client sends. */
export type LiveClientKind = 'setup' | 'clientContent' | 'realtimeInput' | 'toolResponse' | 'contextUpdate';

/** A message of a client, as it came. */
export interface LiveClientMessage {
  /** Counts the messages of a session, from 0. */
  readonly index: number;
  /** In camel case, however it came. `'unknown'` where it holds none of them, or is not JSON. */
  readonly kind: LiveClientKind | 'unknown';
  /** The parsed message; `{}` where it was not a JSON object. */
  readonly body: Readonly<Record<string, unknown>>;
  /** What stands under the message's kind; `{}` where that is not an object. */
  readonly payload: Readonly<Record<string, unknown>>;
  readonly text: string;
  /** Whether it came in a binary frame. */
  readonly binary: boolean;
  /** On the process's real `performance.now()` scale. */
  readonly receivedAt: number;
}

/** Who waits for a message is told that none comes any more. */
export class LiveSessionClosedError extends Error {
  override readonly name = 'LiveSessionClosedError';
}

const kinds: Readonly<Record<string, LiveClientKind>> = {
  setup: 'setup',
  clientContent: 'clientContent',
  client_content: 'clientContent',
  realtimeInput: 'realtimeInput',
  realtime_input: 'realtimeInput',
  toolResponse: 'toolResponse',
  tool_response: 'toolResponse',
  contextUpdate: 'contextUpdate',
  context_update: 'contextUpdate',
};

/** What a client's message is, and what stands in it. */
export function readBody(body: Readonly<Record<string, unknown>>): Pick<LiveClientMessage, 'kind' | 'payload'> {
  for (const [key, payload] of Object.entries(body)) {
    const kind = Object.hasOwn(kinds, key) ? kinds[key] : undefined;
    if (kind) return {kind, payload: isRecord(payload) ? payload : {}};
  }
  return {kind: 'unknown', payload: {}};
}

/** The JSON object that a text is; `undefined` where it is none. */
export function parseObject(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isRecord(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Whether a value is what JSON calls an object. */
export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

interface Waiting {
  readonly find: () => LiveClientMessage | undefined;
  readonly resolve: (message: LiveClientMessage) => void;
  readonly reject: (error: Error) => void;
}

/** The messages of one client, and ways to wait for the next one. */
export class LiveInbox {
  readonly received: LiveClientMessage[] = [];
  readonly #untaken: LiveClientMessage[] = [];
  #waiting: Waiting[] = [];
  #closed: string | undefined;

  add(message: LiveClientMessage): void {
    this.received.push(message);
    this.#untaken.push(message);
    this.#waiting = this.#waiting.filter(({find, resolve}) => {
      const found = find();
      if (found) resolve(found);
      return !found;
    });
  }

  /** Takes the first message that is not taken yet, of that kind if one is given. */
  take(kind?: LiveClientKind): LiveClientMessage | undefined {
    const at = this.#untaken.findIndex((message) => kind === undefined || message.kind === kind);
    return at === -1 ? undefined : this.#untaken.splice(at, 1)[0];
  }

  /** Takes a message at once, or when it comes. */
  next(kind?: LiveClientKind): Promise<LiveClientMessage> {
    return this.#wait(() => this.take(kind), kind ?? 'another message');
  }

  /** The message of that kind with that number, from 0, at once or when it comes. Takes nothing. */
  message(kind: LiveClientKind, at: number): Promise<LiveClientMessage> {
    return this.#wait(() => this.received.filter((message) => message.kind === kind)[at], `${kind} ${at}`);
  }

  /** Tells all who wait, now and later, that nothing comes any more. */
  close(why: string): void {
    this.#closed = why;
    for (const {reject} of this.#waiting.splice(0)) reject(new LiveSessionClosedError(why));
  }

  #wait(find: Waiting['find'], what: string): Promise<LiveClientMessage> {
    const found = find();
    if (found) return Promise.resolve(found);
    const waiting =
      this.#closed === undefined
        ? new Promise<LiveClientMessage>((resolve, reject) => {
            const named = (error: Error): void => reject(new LiveSessionClosedError(`${error.message} before ${what} came`));
            this.#waiting.push({find, resolve, reject: named});
          })
        : Promise.reject(new LiveSessionClosedError(`${this.#closed} before ${what} came`));
    // Who waits is told; a test that no longer does must not fail by it.
    waiting.catch(() => {});
    return waiting;
  }
}
