import {CallIds} from '../agents/llm/model-reply.ts';
import {markLongRunning, ownCalls} from '../agents/llm/own-calls.ts';
import type {Part} from '../content.ts';
import {ModelError} from '../errors.ts';
import type {Event} from '../events/event.ts';
import type {LlmResponse} from '../models/llm-response.ts';
import {Departure} from './departure.ts';
import {LiveCalls} from './live-calls.ts';
import type {LiveConversationOptions} from './live-conversation-options.ts';
import {LiveHooks} from './live-hooks.ts';
import {LiveInput} from './live-input.ts';
import {LiveLink} from './live-link.ts';
import {LiveMemory} from './live-memory.ts';
import {withoutSound} from './live-outbox.ts';
import {resumedRequest} from './live-requests.ts';
import {LiveTurn} from './live-turn.ts';
import {LiveVoice} from './live-voice.ts';
import {Overtaken} from './overtaken.ts';
import {TurnState} from './turn-state.ts';
import {wholeCall} from './whole-call.ts';

/** How long a model that may have something to say may be silent after the user has said all, in milliseconds. */
const LAST_WORD_MS = 5_000;

/** One conversation over live connections: what comes from the user goes to the model, what comes from the model becomes Events. */
export class LiveConversation {
  readonly #options: LiveConversationOptions;
  readonly #state: TurnState;
  readonly #memory: LiveMemory;
  readonly #hooks: LiveHooks;
  readonly #turn: LiveTurn;
  readonly #link: LiveLink;
  readonly #voice: LiveVoice;
  readonly #input: LiveInput;
  readonly #departure: Departure;
  readonly #overtaken = new Overtaken();
  readonly calls: LiveCalls;
  #forgetTurn: () => void;
  #cancelLastWord: () => void = () => {};
  #ending: Promise<unknown> = Promise.resolve();

  constructor(options: LiveConversationOptions) {
    this.#options = options;
    const {agent, ctx, handle, asked, outbox} = options;
    const {run} = ctx;
    const resumes = run.config.sessionResumption !== false;
    this.#state = new TurnState(asked !== undefined);
    this.#memory = new LiveMemory({handle, asked, lastEventId: run.session.events.at(-1)?.id, resumes});
    this.#hooks = new LiveHooks(options);
    this.#turn = new LiveTurn({ctx, outputKey: agent.outputKey, recorder: options.recorder, takeActions: () => this.#hooks.takeActions()});
    this.#forgetTurn = run.open.add(this.#turn);
    this.#link = new LiveLink({
      run,
      model: agent.canonicalModel,
      connect: (abortSignal) => agent.canonicalModel.connect(resumedRequest(options.request, this.#memory.handle), {abortSignal}),
      // Where there is nothing to be said again, nothing may come that would tell the run to go on.
      onConnected: (connection) => this.#voice.greet(connection).then(() => this.#moveOn()),
      onResponse: (response) => this.#receive(response),
      onLost: () => this.#lost(),
    });
    this.calls = new LiveCalls({
      ...options,
      put: (event) => outbox.put(event),
      answer: (calls, responses) => this.#voice.answer(calls, responses),
      handOver: (answer) => this.#handOver(answer),
      onEnd: () => this.#moveOn(),
    });
    this.#voice = new LiveVoice({...options, memory: this.#memory, calls: this.calls, link: this.#link, state: this.#state});
    const mustHold = (): boolean => this.calls.isWaitedFor;
    this.#input = new LiveInput({input: options.input, mustHold, voice: this.#voice});
    // A user who streams sound may be in the middle of a sentence; and a handle comes behind the turn that it holds: who leaves before it
    // leaves that turn behind.
    const isBusy = (): boolean => this.#state.current !== 'closed' || this.calls.isWaitedFor || this.#memory.isBehind;
    this.#departure = new Departure({timers: run.timers, isBusy, leave: () => this.#link.renew()});
    run.life.onEnd(() => this.#link.wake());
  }

  /** Holds the conversation, until both have said all. Rejects where it cannot go on. */
  async hold(): Promise<void> {
    const early = await this.#hooks.prepare();
    if (early) return this.#lastWord(early);
    const sending = this.#input.run().then(() => this.#moveOn(), this.#options.onFailure);
    this.#ending = sending;
    try {
      await this.#link.run();
    } catch (error) {
      if (!(error instanceof ModelError)) throw error;
      this.#lastWord(await this.#hooks.recover(error));
    }
    await this.#hooks.reviewed();
    this.#forgetTurn();
  }

  /** Resolves when nothing of it is under way any more. */
  async ended(): Promise<void> {
    this.#cancelLastWord();
    this.#departure.reset();
    await Promise.all([this.#ending, this.calls.ended(), this.#hooks.reviewed()]);
  }

  /** Stores what it was in the middle of, and gives back what the user has said to nobody: another agent takes over. */
  async handedOver(): Promise<void> {
    // What hooks still look at may be calls.
    await this.#hooks.reviewed();
    await this.ended();
    for (const event of this.#turn.breakOff()) void this.#options.outbox.put(event);
    await this.calls.answerCutOff();
    this.#input.giveBack();
    this.#forgetTurn();
  }

  #handOver(answer: Event): boolean {
    const hasLeft = this.#options.handOver(answer);
    if (hasLeft) this.#input.leave();
    return hasLeft;
  }

  #receive(response: LlmResponse): void {
    // What must act at once does, whatever hooks and reader do meanwhile.
    if (response.interrupted) {
      this.#options.outbox.dropAudio();
      this.calls.interrupt();
    }
    if (response.toolCallCancellation?.ids) this.calls.cancel(response.toolCallCancellation.ids);
    if (response.goAway) this.#departure.announce(response.goAway.timeLeft);
    const place = this.#overtaken.note(response);
    this.#hooks.review(response, (reviewed) => this.#take(reviewed, place));
  }

  #take(response: LlmResponse, place: number): void {
    const {outbox, ctx} = this.#options;
    const {content, outputTranscription, interrupted, turnComplete, usageMetadata, liveSessionResumptionUpdate} = response;
    ctx.run.llmCalls.use(usageMetadata);
    if (interrupted) this.#state.interrupted();
    if ((content?.parts?.length || outputTranscription?.text) && this.#state.said()) {
      this.#memory.began();
      ctx.run.llmCalls.take();
    }
    const isCutOff = this.#overtaken.isInterrupted(place);
    for (const event of this.#turn.take(response)) {
      const left = isCutOff ? withoutSound(event) : event;
      if (left) void outbox.put(left);
    }
    const calls = content?.parts?.filter((part) => part.functionCall) ?? [];
    if (calls.length > 0) {
      this.#call(calls);
      if (isCutOff) this.calls.interrupt();
      this.calls.cancel(this.#overtaken.cancelled(place));
    }
    // Behind the Events that it holds.
    if (liveSessionResumptionUpdate) this.#memory.offered(liveSessionResumptionUpdate, outbox.lastId);
    if (turnComplete) {
      this.#state.completed();
      this.#memory.completed();
      this.#link.progressed();
    }
    this.#moveOn();
  }

  #call(parts: Part[]): void {
    const {history, toolbox, ctx, outbox} = this.#options;
    const ids = new CallIds((id) => history.hasCall(id) || this.#memory.hasCall(id));
    const reply = this.#turn.call(ids.assign({role: 'model', parts: parts.map(wholeCall)}, 0).parts ?? []);
    const calls = ownCalls(reply);
    markLongRunning(reply, calls, toolbox);
    this.#state.called();
    this.#memory.called(calls);
    this.calls.start(reply, calls, outbox.put(reply));
    // What the model says from here on is closed behind the calls.
    this.#forgetTurn();
    this.#forgetTurn = ctx.run.open.add(this.#turn);
  }

  async #lost(): Promise<void> {
    // What hooks still look at belongs to the connection that is gone.
    await this.#hooks.reviewed();
    for (const event of this.#turn.breakOff()) void this.#options.outbox.put(event);
    this.#state.lost();
    this.#departure.reset();
  }

  /** Something has ended: what waited for it may go on, and the conversation may be over. */
  #moveOn(): void {
    if (this.#options.ctx.run.life.ended) return;
    this.#input.release().catch(this.#options.onFailure);
    this.#departure.check();
    this.#cancelLastWord();
    if (!this.#input.isOver || this.calls.isRunning || this.#hooks.isBusy) return;
    if (this.#state.current === 'closed') this.#link.end();
    else if (this.#state.current === 'unsure')
      this.#cancelLastWord = this.#options.ctx.run.timers.set(LAST_WORD_MS, () => this.#link.end());
  }

  #lastWord(response: LlmResponse): void {
    for (const event of this.#turn.take({...response, turnComplete: true})) if (!event.partial) void this.#options.outbox.put(event);
  }
}
