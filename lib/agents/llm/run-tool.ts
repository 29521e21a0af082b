import type {Lifetime} from '../../async/lifetime.ts';
import {Context} from '../../context/context.ts';
import {drain, isGenerator} from '../../dispatch/drain.ts';
import {runCall, type Settlement} from '../../dispatch/run-call.ts';
import {asksUser, createEventActions, plainActions, type EventActions} from '../../events/event-actions.ts';
import {applyDelta} from '../../sessions/state.ts';
import {toErrorResponse, toFunctionResponse} from '../../tools/tool-result.ts';
import {CANCELLED, type ToolRecord} from './tool-batch.ts';
import type {ToolHooks} from './tool-hooks.ts';
import {enterExecutor, runsAway, type ToolRunOptions} from './tool-run-options.ts';

/**
 * Runs one call of a tool between its hooks, and says what became of it; nothing where the run was stopped. Whatever the tool does, there
 * is an answer; only a hook that throws makes it reject.
 */
export function runTool(options: ToolRunOptions): Promise<ToolRecord | undefined> {
  return new ToolRun(options).run();
}

class ToolRun {
  readonly #options: ToolRunOptions;
  /** What the hooks before the body, the body and the hooks after it have written, in this order. */
  readonly #written: EventActions[] = [];
  #args: Record<string, unknown>;
  #context: Context | undefined;
  #hooks: ToolHooks | undefined;
  /** Whether the body runs on a thread. */
  #isAway = false;
  #generator: AsyncGenerator<unknown, unknown, undefined> | undefined;

  constructor(options: ToolRunOptions) {
    this.#options = options;
    this.#args = options.call.args ?? {};
  }

  async run(): Promise<ToolRecord | undefined> {
    const {tool, call, life, agent} = this.#options;
    // Loaded by who needs them: most agents have none.
    if ([agent.beforeToolCallback, agent.afterToolCallback, agent.onToolErrorCallback].some((hooks) => hooks.length > 0))
      this.#hooks = new (await import('sluice/flow')).ToolHooks(this.#options, () => (this.#context ??= this.#newContext(life)));
    try {
      const args = tool.validateArgs(call.args);
      this.#args = args instanceof Promise ? await this.#waitFor(args) : args;
    } catch (error) {
      return this.#failed(error);
    }
    try {
      const early = await this.#hooks?.before(this.#args);
      if (life.ended) return undefined;
      if (early !== undefined) return await this.#finished(early, true);
      const {tool, granted} = this.#options;
      const asked = tool.requireConfirmation || granted ? await this.#askUser() : undefined;
      if (asked) return asked;
      return life.ended ? undefined : await this.#runBody();
    } finally {
      this.#context?.revoke();
    }
  }

  async #waitFor(args: Promise<Record<string, unknown>>): Promise<Record<string, unknown>> {
    const leave = this.#options.ctx.run.open.enter({name: `the arguments' schema of ${this.#options.tool.name}`});
    try {
      return await args;
    } finally {
      leave();
    }
  }

  /** What becomes of a call that the user has to confirm first, or has refused; nothing where it may run. */
  async #askUser(): Promise<ToolRecord | undefined> {
    const {tool, life} = this.#options;
    const context = (this.#context ??= this.#newContext(life));
    try {
      const {askUser} = await import('sluice/flow');
      const response = await askUser({tool, args: this.#args, context});
      return response && (await this.#finished(response, true));
    } catch (error) {
      return this.#failed(error);
    }
  }

  async #runBody(): Promise<ToolRecord | undefined> {
    const {tool, life, onStart, onProgress, ctx} = this.#options;
    const {timers, config, watch} = ctx.run;
    this.#isAway = runsAway(tool, config);
    // Before the tool's clock starts: that goes with its body.
    const place = this.#isAway && (await enterExecutor(this.#options));
    if (this.#isAway && !place) return undefined;
    onStart();
    const body = async (own: Lifetime): Promise<unknown> => {
      const context = this.#newContext(own);
      const result = await (place
        ? place({tool, args: this.#args, context, life: own, graceMs: config.abortGraceMs})
        : watch.run(tool.name, () => tool.runAsync({args: this.#args, toolContext: context})));
      if (!isGenerator(result)) return result;
      this.#generator = result;
      return drain(result, own, onProgress, (next) => (place ? next() : watch.run(tool.name, next)));
    };
    const settlement = await runCall({name: tool.name, timeoutMs: tool.timeoutMs, body}, {life, graceMs: config.abortGraceMs, timers});
    this.#context?.revoke();
    this.#context = undefined;
    return this.#recordOf(settlement);
  }

  #recordOf(settlement: Settlement<unknown>): ToolRecord | Promise<ToolRecord> | undefined {
    switch (settlement.kind) {
      case 'value':
        return this.#finished(settlement.value);
      case 'error':
        return this.#failed(settlement.error);
      case 'timeout':
        if (settlement.abandoned) this.#abandon('its deadline');
        return this.#failed(settlement.error);
      case 'cancelled':
        if (settlement.abandoned) this.#abandon('the stop');
        return this.#record({response: {...CANCELLED}});
    }
  }

  /** @param isFinal - whether it stands in for the tool's own answer, which may come later */
  #finished(value: unknown, isFinal = false): ToolRecord | Promise<ToolRecord> {
    const {tool, call} = this.#options;
    const waits = (tool.isLongRunning && !isFinal) || this.#written.some((actions) => asksUser(actions, [call]));
    const result = toFunctionResponse(waits && (value === undefined || value === null) ? {status: 'pending'} : value);
    const record = {...result, ...(waits && {waits})};
    // Nothing is kept before the hooks have seen it: one of them may be there to take out what must not be stored.
    return this.#hooks ? this.#hooks.after(this.#args, record).then((reviewed) => this.#record(reviewed)) : this.#record(record);
  }

  async #failed(error: unknown): Promise<ToolRecord> {
    const answer = await this.#hooks?.failed(this.#args, error);
    if (answer === undefined) return this.#record({response: toErrorResponse(error)});
    const {waits: _final, ...record} = await this.#finished(answer);
    return record;
  }

  /** A context for the next that writes: it sees what was written before. */
  #newContext(life: Lifetime): Context {
    this.#context?.revoke();
    const {ctx, state, call} = this.#options;
    const seen = this.#written.length === 0 ? state : applyDelta(state, this.#record({response: {}}).actions?.stateDelta ?? {});
    const actions = createEventActions();
    this.#written.push(actions);
    return (this.#context = new Context({
      source: ctx.source,
      actions,
      life,
      state: seen,
      ...(call.id !== undefined && {functionCallId: call.id}),
      granted: this.#options.granted,
    }));
  }

  /** The record, with what was written. User code can write anything into its actions; what JSON cannot hold is this call's error. */
  #record(record: ToolRecord): ToolRecord {
    try {
      return {...record, actions: plainActions(this.#written)};
    } catch (error) {
      return {response: toErrorResponse(error)};
    }
  }

  #abandon(what: string): void {
    const {ctx, tool, call} = this.#options;
    this.#written.pop();
    if (this.#isAway) return; // A thread is ended with the grace.
    // It may be no generator of the language's, whose `return()` would wait for the `next()` that it ignores its signal in.
    (async () => this.#generator?.return(undefined))().catch(() => {});
    const message = `The tool \`${tool.name}\` ignored ${what} and was left behind; what it still does goes nowhere. Pass on its \`abortSignal\``;
    ctx.run.diagnose({code: 'TOOL_ABANDONED', name: tool.name, functionCallId: call.id ?? '', message});
  }
}
