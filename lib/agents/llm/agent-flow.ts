import type {Event} from '../../events/event.ts';
import type {LlmRequest} from '../../models/llm-request.ts';
import type {BaseTool} from '../../tools/base-tool.ts';
import type {InvocationContext} from '../base-agent.ts';
import type {LlmAgentSettings} from './llm-agent-config.ts';
import type {Toolbox} from './toolbox.ts';

/** What a run of an agent does for its place among other agents, and for the form of its output. */
export interface AgentFlow {
  /** The tools it brings besides the agent's own. */
  readonly tools: readonly BaseTool[];
  /** All tools together, where none of them comes from a toolset. */
  readonly toolbox: Toolbox | undefined;
  /** Runs the calls that the message of the run grants, and what comes after them; returns whether the agent is done with that. */
  resume(
    settings: LlmAgentSettings,
    ctx: InvocationContext,
    listToolbox: () => Promise<Toolbox>,
  ): AsyncGenerator<Event, boolean, undefined>;
  /** Adds to a request what the model has to know. */
  shape(request: LlmRequest): void;
  /** A reply without calls as it is to be stored; nothing where the model is to be asked again. */
  finish(reply: Event): Promise<Event | undefined>;
  /** What comes after the responses of a batch instead of the next step. */
  next(ctx: InvocationContext, answer: Event): Promise<AsyncGenerator<Event, void, undefined> | undefined>;
}
