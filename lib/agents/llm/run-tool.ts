import type {Grace} from '../../async/grace.ts';
import type {Lifetime} from '../../async/lifetime.ts';
import type {FunctionCall} from '../../content.ts';
import {Context} from '../../context/context.ts';
import {runCall, type Settlement} from '../../dispatch/run-call.ts';
import {createEventActions, type EventActions} from '../../events/event-actions.ts';
import type {BaseTool} from '../../tools/base-tool.ts';
import {toErrorResponse, toFunctionResponse} from '../../tools/tool-result.ts';
import type {InvocationContext} from '../base-agent.ts';
import {firstResult} from '../callbacks.ts';
import type {LlmAgentSettings} from './llm-agent-config.ts';
import type {ToolRecord} from './tool-batch.ts';

export interface ToolRun {
  readonly agent: LlmAgentSettings;
  readonly ctx: InvocationContext;
  readonly tool: BaseTool;
  readonly call: FunctionCall;
  /** The life of the batch. */
  readonly life: Lifetime;
  readonly grace: Grace;
  /** The state that the call reads. */
  readonly state: Readonly<Record<string, unknown>>;
  /** Told when the body starts. */
  readonly onStart: () => void;
  /** Takes what a generator body yields; resolves when it may go on. */
  readonly onProgress: (value: unknown, abortSignal: AbortSignal) => Promise<void>;
}

/**
 * Runs one call of a tool between its hooks, and says what became of it. Whatever the tool does, there is an answer; only a hook that
 * throws makes it reject.
 */
export async function runTool(run: ToolRun): Promise<ToolRecord | undefined> {
  const {ctx, tool, call} = run;
  const actions = createEventActions();
  const before = contextOf(run, actions, run.life.signal);
  let args: Record<string, unknown>;
  try {
    args = await tool.validateArgs((call.args ?? {}) as Record<string, unknown>);
  } catch (error) {
    return failed(run, before, call.args ?? {}, actions, error);
  }
  if (run.life.ended) return undefined;
  const {beforeToolCallback} = run.agent;
  const early = await firstResult('beforeToolCallback', ctx, beforeToolCallback, (hook) => hook({tool, args, context: before}), before);
  if (early !== undefined) return finished(run, before, args, actions, early);
  if (run.life.ended) return undefined;

  const {context, settlement} = await runBody(run, args, actions);
  switch (settlement.kind) {
    case 'value':
      return finished(run, before, args, actions, settlement.value);
    case 'error':
      return failed(run, before, args, actions, settlement.error);
    case 'timeout':
      if (settlement.abandoned) abandon(run, context, 'its deadline');
      return failed(run, before, args, settlement.abandoned ? createEventActions() : actions, settlement.error);
    case 'cancelled':
      if (settlement.abandoned) abandon(run, context, 'the stop');
      return undefined;
  }
}

async function runBody(run: ToolRun, args: Record<string, unknown>, actions: EventActions): Promise<{context: Context; settlement: Settlement<unknown>}> {
  const {tool} = run;
  const {timers, config} = run.ctx.run;
  let context: Context | undefined;
  run.onStart();
  const settlement = await runCall(
    {
      name: tool.name,
      timeoutMs: tool.timeoutMs,
      body: async (abortSignal) => {
        context = contextOf(run, actions, abortSignal);
        const result = await tool.runAsync({args, toolContext: context});
        return isGenerator(result) ? drain(result, abortSignal, run.onProgress) : result;
      },
    },
    {life: run.life, grace: run.grace, graceMs: config.abortGraceMs, timers},
  );
  context?.revoke();
  return {context: context ?? contextOf(run, actions, run.life.signal), settlement};
}

/** Runs a generator body: shows what it yields, resolves to what it returns. */
async function drain(
  body: AsyncGenerator<unknown, unknown, undefined>,
  abortSignal: AbortSignal,
  show: ToolRun['onProgress'],
): Promise<unknown> {
  for (;;) {
    const {done, value} = await body.next();
    if (done) return value;
    await show(value, abortSignal);
    if (abortSignal.aborted) {
      await body.return(undefined);
      throw abortSignal.reason;
    }
  }
}

async function finished(
  run: ToolRun,
  context: Context,
  args: Record<string, unknown>,
  actions: EventActions,
  value: unknown,
): Promise<ToolRecord> {
  const {tool, ctx} = run;
  const waits = tool.isLongRunning;
  const result = toFunctionResponse(waits && (value === undefined || value === null) ? {status: 'pending'} : value);
  const hooks = run.agent.afterToolCallback;
  const {response} = result;
  const changed = await firstResult('afterToolCallback', ctx, hooks, (hook) => hook({tool, args, context, response}), context);
  context.revoke();
  return {...(changed === undefined ? result : toFunctionResponse(changed)), actions, ...(waits && {waits})};
}

async function failed(
  run: ToolRun,
  context: Context,
  args: Record<string, unknown>,
  actions: EventActions,
  error: unknown,
): Promise<ToolRecord> {
  const {tool, ctx, agent} = run;
  if (!run.life.ended) {
    const hooks = agent.onToolErrorCallback;
    const answer = await firstResult('onToolErrorCallback', ctx, hooks, (hook) => hook({tool, args, context, error}), context);
    if (answer !== undefined) {
      const {waits: _final, ...record} = await finished(run, context, args, actions, answer);
      return record;
    }
  }
  context.revoke();
  return {response: toErrorResponse(error), actions};
}

function contextOf(run: ToolRun, actions: EventActions, abortSignal: AbortSignal): Context {
  return new Context({source: run.ctx, actions, abortSignal, state: run.state, ...(run.call.id !== undefined && {functionCallId: run.call.id})});
}

function abandon({ctx, tool, call}: ToolRun, context: Context, what: string): void {
  context.revoke();
  const message = `The tool \`${tool.name}\` ignored ${what} and was left behind; what it still does goes nowhere. Pass \`abortSignal\` on to what it waits for`;
  ctx.run.diagnose({code: 'TOOL_ABANDONED', name: tool.name, functionCallId: call.id ?? '', message});
}

function isGenerator(value: unknown): value is AsyncGenerator<unknown, unknown, undefined> {
  return typeof value === 'object' && value !== null && Symbol.asyncIterator in value && 'next' in value && 'return' in value;
}
