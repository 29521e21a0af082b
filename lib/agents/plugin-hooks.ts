import type {Content} from '../content.ts';
import type {Event} from '../events/event.ts';
import type {Steps} from '../steps/steps.ts';
import type {AgentHooks} from './agent-hook.ts';
import type {BaseAgent, InvocationContext} from './base-agent.ts';

type Events = AsyncGenerator<Event, void, undefined>;

/** What the plugins of a runner do in its runs. */
export interface PluginHooks {
  /** What the run takes for the user's message. */
  userMessage(ctx: InvocationContext, message: Content): Promise<Content>;
  /** The run of the root agent, between the hooks around it. */
  aroundRun(ctx: InvocationContext, work: () => Events): Events;
  /** The run of any agent, between the hooks around it. */
  aroundAgent(agent: BaseAgent, ctx: InvocationContext, work: () => Events): Events;
  /** An agent with the plugins' hooks ahead of its own. */
  settingsOf<A extends AgentHooks>(agent: A & BaseAgent): A;
  /** What is stored of a whole Event. */
  review(ctx: InvocationContext, event: Event, steps: Steps): Promise<Event>;
}
