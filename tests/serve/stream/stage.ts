import {
  BaseAgent,
  createEvent,
  getFunctionCalls,
  getFunctionResponses,
  InMemoryRunner,
  LlmAgent,
  StreamingMode,
  type Content,
  type CreateEventParams,
  type Event,
  type FunctionTool,
  type InvocationContext,
  type Run,
  type RunConfig,
} from 'sluice';
import {ScriptedLlm, type ScriptedStep} from 'sluice/testing';

export const hello: Content = {role: 'user', parts: [{text: 'Hello?'}]};

/** An agent whose run is a list of Events, or whatever a generator does. */
class Scripted extends BaseAgent {
  readonly #script: () => AsyncIterable<CreateEventParams> | Iterable<CreateEventParams>;

  constructor(script: () => AsyncIterable<CreateEventParams> | Iterable<CreateEventParams>) {
    super({name: 'clerk'});
    this.#script = script;
  }

  protected async *runAsyncImpl({invocationId}: InvocationContext): AsyncGenerator<Event, void, undefined> {
    for await (const event of this.#script()) yield createEvent({author: 'clerk', timestamp: 7, ...event, invocationId});
  }
}

/** A run whose Events are given, with ids that the test knows. */
export function scriptedRun(script: () => AsyncIterable<CreateEventParams> | Iterable<CreateEventParams>): Run {
  const runner = new InMemoryRunner({agent: new Scripted(script), appName: 'test', onDiagnostic: () => {}});
  return runner.runEphemeral({userId: 'u', newMessage: hello});
}

export interface Stage {
  readonly runner: InMemoryRunner;
  readonly model: ScriptedLlm;
  run(newMessage?: Content, runConfig?: RunConfig): Run;
  /** The Events of the session, once every call in it has its response. */
  validEvents(): Promise<Event[]>;
}

/** A runner with one session and a scripted model. */
export async function stage(steps: readonly ScriptedStep[], tools: FunctionTool[] = []): Promise<Stage> {
  const model = new ScriptedLlm({steps});
  const runner = new InMemoryRunner({agent: new LlmAgent({name: 'clerk', model, tools}), appName: 'test'});
  const key = {appName: 'test', userId: 'u', sessionId: 's'};
  await runner.sessionService.createSession(key);
  return {
    runner,
    model,
    run: (newMessage = hello, runConfig = {}) =>
      runner.runAsync({userId: 'u', sessionId: 's', newMessage, runConfig: {streamingMode: StreamingMode.SSE, ...runConfig}}),
    async validEvents() {
      const events = (await runner.sessionService.getSession(key))?.events ?? [];
      const called = events.flatMap(getFunctionCalls).map(({id}) => id);
      const answered = events.flatMap(getFunctionResponses).map(({id}) => id);
      if (called.join() !== answered.join()) throw new Error(`Calls ${called.join()} have the responses ${answered.join()}`);
      return events;
    },
  };
}

/** One message of a stream of server-sent events, or one line. */
export interface Message {
  readonly id: string | undefined;
  readonly data: string;
}

/** Reads the messages of a response, heartbeats left out. Leaving the loop cancels the body. */
export async function* messagesOf(response: Response): AsyncGenerator<Message, void> {
  const isLines = response.headers.get('content-type') === 'application/x-ndjson';
  let rest = '';
  for await (const text of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
    const blocks = (rest + text).split(isLines ? '\n' : '\n\n');
    rest = blocks.pop() ?? '';
    for (const block of blocks) {
      const data = isLines ? block : /^data: (.*)$/m.exec(block)?.[1];
      if (data) yield {id: /^id: (.*)$/m.exec(block)?.[1], data};
    }
  }
  if (rest !== '') throw new Error(`The stream ends within a message: ${rest}`);
}

/** The Events that were read, without the message that tells an error. */
export function eventsOf(messages: readonly Message[]): Event[] {
  return messages.map(({data}) => JSON.parse(data) as Event).filter((event) => 'author' in event);
}
