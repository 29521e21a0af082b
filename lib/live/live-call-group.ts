import type {InvocationContext} from '../agents/base-agent.ts';
import type {LlmAgentSettings} from '../agents/llm/llm-agent-config.ts';
import {ToolBatch} from '../agents/llm/tool-batch.ts';
import type {Toolbox} from '../agents/llm/toolbox.ts';
import type {FunctionCall, FunctionResponse} from '../content.ts';
import type {Event} from '../events/event.ts';
import {NOT_STARTED} from '../tools/tool-result.ts';
import {CancellableRound} from './cancellable-round.ts';

// Made once: an exception captures its stack.
const CANCELLED = new DOMException('The model no longer wants an answer', 'AbortError');
const STOPPED = new DOMException('The model has stopped the stream', 'AbortError');

const CANNOT_ASK = 'not run: it needs the word of the user of the app, and a live run cannot ask for it';

export interface LiveCallGroupOptions {
  readonly agent: LlmAgentSettings;
  readonly ctx: InvocationContext;
  readonly toolbox: Toolbox;
  readonly reply: Event;
  readonly calls: readonly FunctionCall[];
  readonly waitedFor: boolean;
}

/** Calls of one message that are answered together: all that the model waits for, or one that it does not wait for. */
export class LiveCallGroup {
  readonly batch: ToolBatch;
  readonly round: CancellableRound;
  readonly waitedFor: boolean;
  /** Whether the server that made the calls is gone, and the one that there is does not know them. */
  orphaned = false;
  /** Takes it out of what a stop of the run would have to answer. */
  readonly close: () => void;
  readonly #toolbox: Toolbox;
  /** Which calls the model wants no answer to any more. */
  readonly #muted = new Set<number>();
  /** Whether the model itself has ended it: then its last answer is only for the record. */
  #stopped = false;

  constructor({agent, ctx, toolbox, reply, calls, waitedFor}: LiveCallGroupOptions) {
    this.batch = new ToolBatch(ctx, reply, calls);
    this.round = new CancellableRound(agent, ctx, this.batch, toolbox);
    this.waitedFor = waitedFor;
    this.close = ctx.run.open.add(this.batch);
    this.#toolbox = toolbox;
  }

  /** Whether the model that made the calls waits for them, or did when its connection was lost. */
  get wasWaitedFor(): boolean {
    return this.waitedFor && this.#muted.size < this.batch.calls.length;
  }

  /** The model, or the user who cuts it off, wants no answer to these calls any more: they are stopped. */
  cancel(which: (call: FunctionCall) => boolean = () => true): void {
    for (const index of this.#end(which, CANCELLED)) this.#muted.add(index);
  }

  /** The model stops the stream of answers that these calls are. Returns how many there were. */
  stop(which: (call: FunctionCall) => boolean): number {
    const {length} = this.#end(which, STOPPED);
    this.#stopped ||= length > 0;
    return length;
  }

  /**
   * The one Event with an answer to every call.
   *
   * @param transferTool - hands the conversation over, but not where the model has taken that back
   */
  answer(transferTool: string | undefined): Event {
    const {batch} = this;
    for (const index of this.#muted) if (batch.calls[index]?.name === transferTool) batch.settle(index, {response: {...NOT_STARTED}});
    const answer = batch.answer(crypto.randomUUID(), Date.now());
    refuseRequests(answer);
    return answer;
  }

  /** What of an Event's answers the model is told. */
  toldOf({content}: Event): FunctionResponse[] {
    return (content?.parts ?? []).flatMap(({functionResponse}, index) => {
      if (!functionResponse || this.#muted.has(index)) return [];
      const scheduling = this.#stopped ? 'SILENT' : this.#toolbox.factsOf(functionResponse.name)?.responseScheduling;
      return [this.waitedFor ? functionResponse : ({...functionResponse, scheduling} as FunctionResponse)];
    });
  }

  #end(which: (call: FunctionCall) => boolean, reason: unknown): number[] {
    const ended = this.batch.calls.flatMap((call, index) => (!this.#muted.has(index) && which(call) ? [index] : []));
    for (const index of ended) this.round.cancel(index, reason);
    return ended;
  }
}

/** Nobody is there to ask: who talks is at most the user of the app. A call that asks is answered with that, and waits for nothing. */
function refuseRequests(answer: Event): void {
  const {requestedToolConfirmations, requestedAuthConfigs} = answer.actions;
  const asking = new Set([...Object.keys(requestedToolConfirmations), ...Object.keys(requestedAuthConfigs)]);
  if (asking.size === 0) return;
  answer.actions = {...answer.actions, requestedToolConfirmations: {}, requestedAuthConfigs: {}};
  for (const {functionResponse} of answer.content?.parts ?? [])
    if (functionResponse && asking.has(functionResponse.id ?? '')) functionResponse.response = {error: CANNOT_ASK};
  const waiting = answer.longRunningToolIds?.filter((id) => !asking.has(id)) ?? [];
  if (waiting.length > 0) answer.longRunningToolIds = waiting;
  else delete answer.longRunningToolIds;
}
