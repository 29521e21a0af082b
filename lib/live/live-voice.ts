import {answersOf} from '../answers/answers.ts';
import {narrateResponse} from '../agents/llm/history-narration.ts';
import type {InvocationContext} from '../agents/base-agent.ts';
import type {Content, FunctionCall, FunctionResponse} from '../content.ts';
import {isUserRequest} from '../context/requests.ts';
import {expectOption} from '../errors.ts';
import {createEvent, getFunctionCalls} from '../events/event.ts';
import type {BaseLlmConnection, RealtimeInput} from '../models/base-llm-connection.ts';
import type {LlmRequest} from '../models/llm-request.ts';
import type {LiveAgent} from './live-agent.ts';
import type {LiveCalls} from './live-calls.ts';
import type {LiveLink} from './live-link.ts';
import type {Greeting, LiveMemory, LiveMessage} from './live-memory.ts';
import type {LiveOutbox} from './live-outbox.ts';
import type {LiveRecorder} from './live-recorder.ts';
import {inWords, saidBefore} from './live-requests.ts';
import type {TurnState} from './turn-state.ts';

export interface LiveVoiceOptions {
  readonly agent: LiveAgent;
  readonly ctx: InvocationContext;
  readonly request: LlmRequest;
  readonly outbox: LiveOutbox;
  readonly memory: LiveMemory;
  readonly calls: LiveCalls;
  readonly link: LiveLink;
  readonly state: TurnState;
  readonly recorder: LiveRecorder | undefined;
  readonly onFailure: (error: unknown) => void;
}

/** All that is said to the model: by the user, by tools, and to a new connection by the run itself. */
export class LiveVoice {
  readonly #options: LiveVoiceOptions;

  constructor(options: LiveVoiceOptions) {
    this.#options = options;
  }

  /**
   * Tells a new connection what was said before, as far as it does not know, and says the last again that was not answered. Not while a call
   * runs that was made to answer it: asked again, the model would call again. What the call comes to asks for the answer then.
   */
  async greet(connection: BaseLlmConnection): Promise<void> {
    const {memory, calls, ctx} = this.#options;
    const greeting = {...memory.connected(), count: ctx.run.session.events.length};
    const {all, waitedFor} = calls.orphan((id) => memory.knows(id));
    const last = waitedFor ? undefined : greeting.again.at(-1);
    const rest = async (): Promise<void> => {
      await this.#tell(connection, greeting, all, last);
      if (last && !this.#isKnownAnswer(last)) await this.#send(connection, last);
      memory.greeted();
    };
    for (const message of greeting.again) if (this.#isKnownAnswer(message)) await this.#send(connection, message);
    if (calls.isWaitedFor) void this.#whenFree(connection, rest);
    else await rest();
  }

  /** A server that waits for a call that it knows takes nothing else meanwhile. */
  async #whenFree(connection: BaseLlmConnection, rest: () => Promise<void>): Promise<void> {
    const {calls, link, onFailure} = this.#options;
    try {
      while (calls.isWaitedFor) await calls.changed();
      // Another connection has been told already.
      await link.send(async (current) => (current === connection ? rest() : undefined));
    } catch (error) {
      onFailure(error);
    }
  }

  async #tell(
    connection: BaseLlmConnection,
    {isFirst, untold, unsaid, count}: Greeting & {readonly count: number},
    running: readonly string[],
    last: LiveMessage | undefined,
  ): Promise<void> {
    const {agent, ctx, request} = this.#options;
    if (!untold) return;
    const before = new Set(last?.kind === 'turn' ? [...unsaid, last.eventId] : unsaid);
    const open = new Set([...running, ...(last?.kind === 'answer' ? last.calls.flatMap(({id}) => id ?? []) : [])]);
    const history = isFirst ? inWords(agent.name, request.contents) : saidBefore(agent, ctx, {...untold, count, before, open});
    // A server that was told to expect a history waits for it, also for an empty one.
    if (history.length > 0 || 'historyConfig' in (request.liveConnectConfig ?? {})) await connection.sendHistory(history);
  }

  /**
   * Says a turn of the user, which is stored before; what answers calls that wait goes out as such.
   *
   * @throws {@link FunctionResponseError} for an answer that nobody waits for
   * @throws {@link InvalidOptionError} for an answer to what a text run has asked the user of the app
   */
  async say(content: Content): Promise<void> {
    const {ctx} = this.#options;
    ctx.run.life.throwIfEnded();
    const {parts = []} = answersOf(ctx.run.session.events, content, ctx.agent)?.message ?? content;
    const answersRequest = parts.some(({functionResponse}) => isUserRequest(functionResponse?.name));
    expectOption(!answersRequest, 'liveRequestQueue', 'no answers to confirmations and credentials: `runAsync` takes them', parts);
    const eventId = await this.#keep({...content, role: 'user', parts});
    const responses = parts.flatMap(({functionResponse}) => functionResponse ?? []);
    if (responses.length > 0) await this.answer(responses, responses);
    const said = parts.filter((part) => !part.functionResponse);
    if (said.length === 0) return;
    await this.#deliver({kind: 'turn', content: {role: 'user', parts: said}, eventId});
  }

  /** Streams something; text of it is stored. */
  async stream(input: RealtimeInput): Promise<void> {
    const {ctx, state, link, recorder} = this.#options;
    ctx.run.life.throwIfEnded();
    recorder?.hear(input.audio);
    if (input.text !== undefined) await this.#keep({role: 'user', parts: [{text: input.text}]});
    // The end of a stream is nothing that could be answered.
    if (!input.audioStreamEnd) state.streamed();
    await link.send((connection) => connection.sendRealtime(input));
  }

  /** Tells what calls came to. In words it is a turn, which a model that waits for other calls does not take. */
  async answer(made: readonly Pick<FunctionCall, 'id'>[], responses: readonly FunctionResponse[]): Promise<void> {
    const {calls, ctx} = this.#options;
    const message: LiveMessage = {kind: 'answer', calls: made, responses};
    while (!this.#isKnown(message) && calls.isWaitedFor && !ctx.run.life.ended) await calls.changed();
    await this.#deliver(message);
  }

  async #keep(content: Content): Promise<string> {
    const {ctx, outbox} = this.#options;
    const event = createEvent({invocationId: ctx.invocationId, content, ...(ctx.branch !== undefined && {branch: ctx.branch})});
    await outbox.keep(event);
    return event.id;
  }

  async #deliver(message: LiveMessage): Promise<void> {
    const {memory, link} = this.#options;
    const sent = memory.sending(message);
    await link.send((connection) => this.#send(connection, message));
    sent();
  }

  async #send(connection: BaseLlmConnection, message: LiveMessage): Promise<void> {
    const {state} = this.#options;
    if (message.kind === 'turn') {
      state.asked();
      return connection.sendContent(message.content);
    }
    const {responses} = message;
    if (!this.#isKnown(message)) {
      const content = {role: 'user', parts: responses.flatMap((response) => narrateResponse(this.#callerOf(response), response))};
      if (responses.every(({scheduling, willContinue}) => scheduling === 'SILENT' || willContinue))
        return connection.sendHistory([content]);
      state.asked();
      return connection.sendContent(content);
    }
    if (responses.some(({scheduling}) => scheduling === undefined)) state.answered();
    else if (responses.some(({scheduling}) => scheduling !== 'SILENT')) state.streamed();
    return connection.sendContent({role: 'user', parts: responses.map((functionResponse) => ({functionResponse}))});
  }

  /** Who made a call: it may have been an agent that has handed over since. */
  #callerOf({id}: FunctionResponse): string {
    const {agent, ctx} = this.#options;
    const made = ctx.run.session.events.findLast((event) => getFunctionCalls(event).some((call) => call.id === id));
    return made?.author ?? agent.name;
  }

  #isKnownAnswer(message: LiveMessage): boolean {
    return message.kind === 'answer' && this.#isKnown(message);
  }

  /** Whether the server knows the calls that are answered. */
  #isKnown({calls}: LiveMessage & {readonly kind: 'answer'}): boolean {
    return calls.every(({id = ''}) => this.#options.memory.knows(id));
  }
}
