import type {Lifetime} from '../../async/lifetime.ts';
import type {FunctionCall} from '../../content.ts';
import type {Granted} from '../../context/requests.ts';
import type {BaseTool} from '../../tools/base-tool.ts';
import type {ToolExecutor} from '../../tools/tool-executor.ts';
import type {InvocationContext} from '../base-agent.ts';
import {ToolExecutionMode, type ResolvedRunConfig} from '../run-config.ts';
import type {LlmAgentSettings} from './llm-agent-config.ts';

/** One call of a tool, and what its run has to do with it. */
export interface ToolRunOptions {
  readonly agent: LlmAgentSettings;
  readonly ctx: InvocationContext;
  readonly tool: BaseTool;
  readonly call: FunctionCall;
  /** The life of the batch. */
  readonly life: Lifetime;
  /** The state that the call reads. */
  readonly state: Readonly<Record<string, unknown>>;
  /** What the call had asked for, where it is run again. */
  readonly granted?: Granted | undefined;
  /** Told when the body starts. */
  readonly onStart: () => void;
  /** Takes what a generator body yields; resolves when it may go on. */
  readonly onProgress: (value: unknown, abortSignal: AbortSignal) => Promise<void>;
}

/** Whether the body of a tool runs on a thread of its agent's executor. */
export function runsAway({worker}: BaseTool, {toolExecutionMode}: ResolvedRunConfig): boolean {
  return !!worker && (worker.only || toolExecutionMode === ToolExecutionMode.PARALLEL_SUBSCRIBE);
}

/** Waits for a place there. */
export async function enterExecutor({agent, life}: ToolRunOptions): ReturnType<ToolExecutor['enter']> {
  agent.executor ??= (await import('sluice/workers')).sharedWorkerPool;
  return agent.executor.enter(life);
}
