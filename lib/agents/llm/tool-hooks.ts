import type {Context} from '../../context/context.ts';
import {toFunctionResponse} from '../../tools/tool-result.ts';
import {firstResult} from '../callbacks.ts';
import type {LlmAgentSettings} from './llm-agent-config.ts';
import type {ToolRecord} from './tool-batch.ts';
import type {ToolRunOptions} from './tool-run-options.ts';

type Answer = Record<string, unknown> | undefined;
type MaybeAnswer = Answer | void | Promise<Answer | void>;

/** The user's code around one call of a tool. */
export class ToolHooks {
  readonly #options: ToolRunOptions;
  readonly #context: () => Context;

  /** @param context - gives the context that takes what the hooks write */
  constructor(options: ToolRunOptions, context: () => Context) {
    this.#options = options;
    this.#context = context;
  }

  /** What stands in for the tool's own answer. */
  async before(args: Record<string, unknown>): Promise<Answer> {
    const {tool, life} = this.#options;
    return life.ended ? undefined : this.#ask('beforeToolCallback', (hook, context) => hook({tool, args, context}));
  }

  /** The record with what the hooks make of its response. */
  async after(args: Record<string, unknown>, record: ToolRecord): Promise<ToolRecord> {
    const {tool} = this.#options;
    const {response} = record;
    const changed = await this.#ask('afterToolCallback', (hook, context) => hook({tool, args, context, response}));
    return {...record, ...(changed !== undefined && toFunctionResponse(changed))};
  }

  /** What stands in for an error. */
  async failed(args: Record<string, unknown>, error: unknown): Promise<Answer> {
    const {tool, life} = this.#options;
    return life.ended ? undefined : this.#ask('onToolErrorCallback', (hook, context) => hook({tool, args, context, error}));
  }

  /** The first answer of the agent's hooks of a kind. */
  async #ask<H extends 'beforeToolCallback' | 'afterToolCallback' | 'onToolErrorCallback'>(
    hook: H,
    call: (callback: LlmAgentSettings[H][number], context: Context) => MaybeAnswer,
  ): Promise<Answer> {
    const {agent, ctx} = this.#options;
    const callbacks: readonly LlmAgentSettings[H][number][] = agent[hook];
    if (callbacks.length === 0) return undefined;
    const context = this.#context();
    return firstResult(hook, ctx, callbacks, (callback) => call(callback, context), context);
  }
}
