import {Grace} from '../../async/grace.ts';
import type {Lifetime} from '../../async/lifetime.ts';
import type {FunctionCall} from '../../content.ts';
import {Progress} from '../../dispatch/progress.ts';
import {waves} from '../../dispatch/waves.ts';
import {createEvent, type Event} from '../../events/event.ts';
import {applyDelta} from '../../sessions/state.ts';
import {toFunctionResponse} from '../../tools/tool-result.ts';
import type {InvocationContext} from '../base-agent.ts';
import {ToolExecutionMode} from '../run-config.ts';
import type {LlmAgentSettings} from './llm-agent-config.ts';
import {runTool} from './run-tool.ts';
import type {ToolBatch, ToolRecord} from './tool-batch.ts';
import type {Toolbox, ToolFacts} from './toolbox.ts';

/**
 * One round of tools: runs the calls of a batch, yields the progress of generator bodies as partial Events, and returns the one Event that
 * answers every call, in call order, not yet yielded.
 *
 * @throws {@link HookError} where a tool's hook throws; its siblings are stopped before
 */
export async function* callTools(agent: LlmAgentSettings, ctx: InvocationContext, batch: ToolBatch, toolbox: Toolbox): AsyncGenerator<Event, Event, undefined> {
  const round = new ToolRound(agent, ctx, batch, toolbox);
  yield* round.run();
  return batch.event(await ctx.run.steps.uuid(), await ctx.run.steps.now());
}

/** The answer to the calls of a reply that cannot be trusted: none is run. */
export async function refuseCalls(ctx: InvocationContext, batch: ToolBatch, errorCode: string): Promise<Event> {
  batch.calls.forEach((_, index) => batch.settle(index, {response: {error: `not run: the reply ended with ${errorCode}`}}));
  return batch.event(await ctx.run.steps.uuid(), await ctx.run.steps.now());
}

class ToolRound {
  readonly #agent: LlmAgentSettings;
  readonly #ctx: InvocationContext;
  readonly #batch: ToolBatch;
  readonly #toolbox: Toolbox;
  readonly #facts: ReadonlyMap<string, ToolFacts>;
  readonly #life: Lifetime;
  readonly #grace: Grace;
  readonly #progress = new Progress<Event>();
  #failure: {error: unknown} | undefined;

  constructor(agent: LlmAgentSettings, ctx: InvocationContext, batch: ToolBatch, toolbox: Toolbox) {
    this.#agent = agent;
    this.#ctx = ctx;
    this.#batch = batch;
    this.#toolbox = toolbox;
    this.#facts = new Map(toolbox.facts.map((facts) => [facts.name, facts]));
    this.#life = ctx.run.life.child();
    this.#grace = new Grace(this.#life, ctx.run.config.abortGraceMs, ctx.run.timers);
  }

  async *run(): AsyncGenerator<Event, void, undefined> {
    const running = this.#runWaves().finally(() => this.#progress.close());
    let over = false;
    try {
      for (let item = await this.#progress.take(); item; item = await this.#progress.take()) yield item.value;
      over = true;
    } finally {
      if (!over) this.#life.end(this.#ctx.abortSignal.aborted ? this.#ctx.abortSignal.reason : new DOMException('The reader left', 'AbortError'));
      this.#progress.discard();
      await running;
      this.#life.close();
    }
    this.#ctx.abortSignal.throwIfAborted();
    if (this.#failure) throw this.#failure.error;
  }

  /** Runs the calls, wave by wave: never rejects, and is over in bounded time after a stop. */
  async #runWaves(): Promise<void> {
    const {calls} = this.#batch;
    const {steps, gate, config, session} = this.#ctx.run;
    const plan = calls.map(({name}) => ({exclusive: this.#facts.get(name ?? '')?.exclusive ?? false}));
    const atStart = session.state;
    for (const {start, end} of waves(plan, config.toolExecutionMode === ToolExecutionMode.SEQUENTIAL)) {
      if (this.#life.ended) return;
      const state = start === 0 ? atStart : applyDelta(atStart, this.#batch.actionsBefore(start).stateDelta);
      const thunks = calls.slice(start, end).map((call, offset) => () => this.#callOne(call, start + offset, state));
      await steps.all(thunks, gate, () => undefined);
    }
  }

  async #callOne(call: FunctionCall, index: number, state: Readonly<Record<string, unknown>>): Promise<void> {
    if (this.#life.ended) return;
    try {
      const record = await this.#ctx.run.steps.step(`tool ${call.name} ${call.id}`, () => this.#record(call, index, state));
      if (record) this.#batch.settle(index, record);
    } catch (error) {
      if (this.#life.ended) return;
      this.#failure = {error};
      this.#life.end(error);
    }
  }

  async #record(call: FunctionCall, index: number, state: Readonly<Record<string, unknown>>): Promise<ToolRecord | undefined> {
    const tool = this.#facts.has(call.name ?? '') ? (await this.#toolbox.load()).find(({name}) => name === call.name) : undefined;
    if (!tool) return {response: {error: this.#unknown(call)}};
    return runTool({
      agent: this.#agent,
      ctx: this.#ctx,
      tool,
      call,
      life: this.#life,
      grace: this.#grace,
      state,
      onStart: () => this.#batch.start(index),
      onProgress: (value, abortSignal) => this.#progress.show(this.#progressEvent(call, value), abortSignal),
    });
  }

  #unknown(call: FunctionCall): string {
    const names = this.#agent.tools.length === 0 ? 'none' : [...this.#facts.keys()].join(', ');
    return `There is no tool \`${call.name ?? ''}\`. The tools are: ${names}`;
  }

  #progressEvent(call: FunctionCall, value: unknown): Event {
    const {response} = toFunctionResponse(value);
    return createEvent({
      invocationId: this.#ctx.invocationId,
      author: this.#ctx.agentName,
      partial: true,
      ...(this.#ctx.branch !== undefined && {branch: this.#ctx.branch}),
      content: {role: 'user', parts: [{functionResponse: {...(call.id !== undefined && {id: call.id}), name: call.name ?? '', response, willContinue: true}}]},
    });
  }
}
