import type {Lifetime} from '../../async/lifetime.ts';
import type {FunctionCall} from '../../content.ts';
import type {Granted} from '../../context/requests.ts';
import {Progress} from '../../dispatch/progress.ts';
import {waves} from '../../dispatch/waves.ts';
import {HookError} from '../../errors.ts';
import {createEvent, type Event} from '../../events/event.ts';
import {applyDelta} from '../../sessions/state.ts';
import type {BaseTool} from '../../tools/base-tool.ts';
import {toFunctionResponse} from '../../tools/tool-result.ts';
import type {InvocationContext} from '../base-agent.ts';
import {ToolExecutionMode} from '../run-config.ts';
import type {LlmAgentSettings} from './llm-agent-config.ts';
import {runTool} from './run-tool.ts';
import type {ToolBatch, ToolRecord} from './tool-batch.ts';
import type {Toolbox} from './toolbox.ts';

// Made once: an exception captures its stack.
const READER_LEFT = new DOMException('The reader left the run', 'AbortError');

/** One round of tools: runs the calls of a batch. `run` yields the progress of generator bodies; the batch then knows every answer. */
export class ToolRound {
  readonly #agent: LlmAgentSettings;
  readonly #ctx: InvocationContext;
  readonly #batch: ToolBatch;
  readonly #toolbox: Toolbox;
  readonly #granted: ReadonlyMap<string, Granted> | undefined;
  protected readonly life: Lifetime;
  readonly #progress = new Progress<Event>();
  #failure: {error: unknown} | undefined;

  /** @param granted - what calls that are run again had asked for, by their ids */
  constructor(agent: LlmAgentSettings, ctx: InvocationContext, batch: ToolBatch, toolbox: Toolbox, granted?: ReadonlyMap<string, Granted>) {
    this.#agent = agent;
    this.#ctx = ctx;
    this.#batch = batch;
    this.#toolbox = toolbox;
    this.#granted = granted;
    this.life = ctx.run.life.child();
  }

  /** @throws {@link HookError} where a tool's hook throws; its siblings are stopped before */
  async *run(): AsyncGenerator<Event, void, undefined> {
    const running = this.#runWaves().finally(() => this.#progress.close());
    let over = false;
    try {
      for (let item = await this.#progress.take(); item; item = await this.#progress.take()) yield item.value;
      over = true;
    } finally {
      if (!over) this.life.end(READER_LEFT);
      this.#progress.discard();
      await running;
      this.life.close();
    }
    this.#ctx.run.life.throwIfEnded();
    if (this.#failure) throw this.#failure.error;
  }

  /** Runs the calls, wave by wave: never rejects, and is over in bounded time after a stop. */
  async #runWaves(): Promise<void> {
    const {calls} = this.#batch;
    const {steps, gate, config, session} = this.#ctx.run;
    const plan = calls.map(({name}) => ({exclusive: this.#toolbox.factsOf(name)?.exclusive === true}));
    const atStart = session.state;
    for (const {start, end} of waves(plan, config.toolExecutionMode === ToolExecutionMode.SEQUENTIAL)) {
      if (this.life.ended) break;
      this.#batch.beginWave(start);
      const state = start === 0 ? atStart : applyDelta(atStart, this.#batch.actionsBefore(start).stateDelta);
      const thunks = calls.slice(start, end).map((call, offset) => () => this.#callOne(call, start + offset, state));
      await steps.all(thunks, gate, () => undefined);
    }
  }

  async #callOne(call: FunctionCall, index: number, state: Readonly<Record<string, unknown>>): Promise<void> {
    if (this.lifeOf(index).ended) return;
    try {
      const record = await this.#ctx.run.steps.step(`tool ${call.name} ${call.id}`, () => this.#record(call, index, state));
      if (record) this.#batch.settle(index, record);
    } catch (error) {
      // A replay only knows the error: behind its body a call may have taken effect, before it not.
      if (error instanceof HookError && error.hook !== 'beforeToolCallback') this.#batch.start(index);
      if (this.lifeOf(index).ended) return;
      this.#failure = {error};
      this.life.end(error);
    }
  }

  #record(call: FunctionCall, index: number, state: Readonly<Record<string, unknown>>): ToolRecord | Promise<ToolRecord | undefined> {
    const tool = this.#toolbox.find(call.name);
    if (!tool) return {response: {error: this.#unknown(call)}};
    if (tool instanceof Promise)
      return tool.then((found) => (found ? this.#run(found, call, index, state) : {response: {error: this.#unknown(call)}}));
    return this.#run(tool, call, index, state);
  }

  #run(tool: BaseTool, call: FunctionCall, index: number, state: Readonly<Record<string, unknown>>): Promise<ToolRecord | undefined> {
    return runTool({
      agent: this.#agent,
      ctx: this.#ctx,
      tool,
      call,
      life: this.lifeOf(index),
      state,
      granted: this.#granted?.get(call.id ?? ''),
      onStart: () => this.#batch.start(index),
      onProgress: (value, abortSignal) => this.#progress.show(this.#progressEvent(call, value), abortSignal),
    });
  }

  /** The life of one call: here that of all. */
  protected lifeOf(_index: number): Lifetime {
    return this.life;
  }

  #unknown(call: FunctionCall): string {
    return `There is no tool \`${call.name ?? ''}\`. The tools are: ${this.#toolbox.names.join(', ') || 'none'}`;
  }

  #progressEvent(call: FunctionCall, value: unknown): Event {
    const {response} = toFunctionResponse(value);
    const functionResponse = {...(call.id !== undefined && {id: call.id}), name: call.name ?? '', response, willContinue: true};
    return createEvent({
      invocationId: this.#ctx.invocationId,
      author: this.#ctx.agentName,
      partial: true,
      ...(this.#ctx.branch !== undefined && {branch: this.#ctx.branch}),
      content: {role: 'user', parts: [{functionResponse}]},
    });
  }
}
