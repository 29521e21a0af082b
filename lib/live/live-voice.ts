import {answersOf} from '../agents/answers.ts';
import type {InvocationContext} from '../agents/base-agent.ts';
import type {Content, FunctionCall, FunctionResponse} from '../content.ts';
import {createEvent} from '../events/event.ts';
import type {BaseLlmConnection, RealtimeInput} from '../models/base-llm-connection.ts';
import type {LlmRequest} from '../models/llm-request.ts';
import type {LiveAgent} from './live-agent.ts';
import type {LiveLink} from './live-link.ts';
import type {LiveMemory, LiveMessage} from './live-memory.ts';
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
  readonly link: LiveLink;
  readonly state: TurnState;
  readonly recorder: LiveRecorder | undefined;
}

/** All that is said to the model: by the user, by tools, and to a new connection by the run itself. */
export class LiveVoice {
  readonly #options: LiveVoiceOptions;

  constructor(options: LiveVoiceOptions) {
    this.#options = options;
  }

  /** Tells a new connection what was said before, as far as it does not know. */
  async greet(connection: BaseLlmConnection): Promise<void> {
    const {agent, ctx, request, memory} = this.#options;
    const {isFirst, untold, again, turns} = memory.connected();
    const given = isFirst ? inWords(agent.name, request.contents) : undefined;
    const history = untold === undefined ? [] : (given ?? saidBefore(agent, ctx, {...untold, before: turns}));
    // A server that was told to expect a history waits for it, also for an empty one.
    const isExpected = untold !== undefined && 'historyConfig' in (request.liveConnectConfig ?? {});
    if (history.length > 0 || isExpected) await connection.sendHistory(history);
    for (const message of again) await this.#send(connection, message);
    memory.greeted();
  }

  /**
   * Says a turn of the user, which is stored before; what answers calls that wait goes out as such.
   *
   * @throws {@link FunctionResponseError} for an answer that nobody waits for
   */
  async say(content: Content): Promise<void> {
    const {ctx} = this.#options;
    ctx.run.life.throwIfEnded();
    const {parts = []} = answersOf(ctx.run.session.events, content)?.message ?? content;
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

  /** Tells what calls came to. */
  async answer(calls: readonly Pick<FunctionCall, 'id'>[], responses: readonly FunctionResponse[]): Promise<void> {
    await this.#deliver({kind: 'answer', calls, responses});
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
    const {memory, state} = this.#options;
    if (message.kind === 'turn') state.asked();
    else if (message.responses.some(({scheduling}) => scheduling === undefined)) state.answered();
    else if (message.responses.some(({scheduling}) => scheduling !== 'SILENT')) state.streamed();
    await connection.sendContent(memory.toContent(message));
  }
}
