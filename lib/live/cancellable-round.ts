import type {InvocationContext} from '../agents/base-agent.ts';
import {ToolRound} from '../agents/llm/call-tools.ts';
import type {LlmAgentSettings} from '../agents/llm/llm-agent-config.ts';
import type {ToolBatch} from '../agents/llm/tool-batch.ts';
import type {Toolbox} from '../agents/llm/toolbox.ts';
import type {Lifetime} from '../async/lifetime.ts';

/** A round of tools of which each call can be ended by itself. */
export class CancellableRound extends ToolRound {
  readonly #lives: readonly Lifetime[];

  constructor(agent: LlmAgentSettings, ctx: InvocationContext, batch: ToolBatch, toolbox: Toolbox) {
    super(agent, ctx, batch, toolbox);
    this.#lives = batch.calls.map(() => this.life.child());
  }

  /** Ends one call, as a stop would end all. Its siblings go on. */
  cancel(index: number, reason: unknown): void {
    this.#lives[index]?.end(reason);
  }

  protected override lifeOf(index: number): Lifetime {
    return this.#lives[index] ?? this.life;
  }
}
