import type {Content, FunctionCall, Part} from '@google/genai';
import pLimit from 'p-limit';
import {z} from 'zod';
import {scriptedReply} from '../scripted-model.ts';
import type {Step, Subject, SubjectOptions} from './subject.ts';

/**
 * The floor with what the contract of a run cannot do without, each in its plainest form: a controller of its own for each call of the
 * model and of a tool, linked to the run's and unlinked by hand; a deadline for each tool call; validated arguments; an id and a stored
 * copy for each Event; an iterator object whose `return()` stops the run first. It closes nothing, repairs nothing and checks nothing.
 */
export function createFloorContract({tool, width}: SubjectOptions): Subject {
  return {
    async open() {
      const events: StoredEvent[] = [];
      const contents: Content[] = [];
      return {
        say(text, {stream = false, abortSignal} = {}) {
          const run: Run = {tool, gate: pLimit(width), events, contents, stream, controller: new AbortController(), calls: new Set()};
          store(run, {role: 'user', parts: [{text}]});
          return new RunIterator(run, abortSignal);
        },
        size: async () => events.length,
        close: async () => {},
      };
    },
  };
}

const TIMEOUT_MS = 120_000;
const OVER = new DOMException('The call is over', 'AbortError');
const parameters = z.object({n: z.number()});

interface Run {
  readonly tool: SubjectOptions['tool'];
  readonly gate: ReturnType<typeof pLimit>;
  readonly events: StoredEvent[];
  readonly contents: Content[];
  readonly stream: boolean;
  readonly controller: AbortController;
  /** The calls under way. */
  readonly calls: Set<AbortController>;
}

interface StoredEvent extends Step {
  readonly id: string;
  readonly timestamp: number;
}

/** A bare async generator's `return()` would queue behind a pending `next()`; this one ends what that waits for. */
class RunIterator implements AsyncIterableIterator<Step, void, undefined> {
  readonly #run: Run;
  readonly #events: AsyncGenerator<Step, void, undefined>;
  readonly #outer: AbortSignal | undefined;
  readonly #relay = (): void => this.#stop(this.#outer?.reason);

  constructor(run: Run, outer: AbortSignal | undefined) {
    this.#run = run;
    this.#events = loop(run);
    this.#outer = outer;
    outer?.addEventListener('abort', this.#relay, {once: true});
  }

  async next(): Promise<IteratorResult<Step, void>> {
    const result = await this.#events.next();
    if (result.done) this.#outer?.removeEventListener('abort', this.#relay);
    return result;
  }

  return(): Promise<IteratorResult<Step, void>> {
    this.#stop(new DOMException('The reader left', 'AbortError'));
    this.#outer?.removeEventListener('abort', this.#relay);
    return this.#events.return();
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  #stop(reason: unknown): void {
    this.#run.controller.abort(reason);
    for (const call of this.#run.calls) call.abort(reason);
  }
}

async function* loop(run: Run): AsyncGenerator<Step, void, undefined> {
  for (;;) {
    run.controller.signal.throwIfAborted();
    const reply = yield* ask(run);
    const calls = (reply.parts ?? []).flatMap((part) => part.functionCall ?? []);
    yield store(run, reply);
    if (calls.length === 0) return;
    const parts = await Promise.all(calls.map((call) => run.gate(() => answer(run, call))));
    yield store(run, {role: 'user', parts});
  }
}

async function* ask(run: Run): AsyncGenerator<Step, Content, undefined> {
  const call = new AbortController();
  run.calls.add(call);
  try {
    let reply: Content | undefined;
    for await (const response of scriptedReply(run.contents, run.stream)) {
      call.signal.throwIfAborted();
      if (response.partial) yield response;
      else reply = response.content;
    }
    if (!reply) throw new Error('the model ended without a reply');
    return reply;
  } finally {
    run.calls.delete(call);
    call.abort(OVER);
  }
}

async function answer(run: Run, {id, name, args}: FunctionCall): Promise<Part> {
  const call = new AbortController();
  run.calls.add(call);
  const deadline = setTimeout(() => call.abort(new DOMException('The tool took too long', 'TimeoutError')), TIMEOUT_MS);
  let response: Record<string, unknown>;
  try {
    call.signal.throwIfAborted();
    response = {result: await run.tool(parameters.parse(args), call.signal)};
  } catch (error) {
    response = {error: String(error)};
  } finally {
    clearTimeout(deadline);
    run.calls.delete(call);
  }
  return {functionResponse: {...(id !== undefined && {id}), ...(name !== undefined && {name}), response}};
}

/** Keeps a copy of its own of what the reader gets. */
function store(run: Run, content: Content): Step {
  const event: StoredEvent = {id: crypto.randomUUID(), timestamp: Date.now(), content};
  const stored = deepCopy(event);
  run.events.push(stored);
  if (stored.content) run.contents.push(stored.content);
  return event;
}

function deepCopy<T>(value: T): T {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((item: unknown) => deepCopy(item)) as T;
  const copy: Record<string, unknown> = {};
  for (const [key, item] of Object.entries(value)) copy[key] = deepCopy(item);
  return copy as T;
}
