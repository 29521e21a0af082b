import type {Content} from '../content.ts';
import type {Event} from '../events/event.ts';
import type {Steps} from '../steps/steps.ts';

type Events = AsyncGenerator<Event, void, undefined>;

/**
 * What the plugins of a runner do in its runs. `ctx` is an `InvocationContext` and `agent` a `BaseAgent`, which stand higher than what a
 * run's scope may name.
 */
export interface PluginHooks {
  /** What the run takes for the user's message. */
  userMessage(ctx: object, message: Content): Promise<Content>;
  /** The run of the root agent, between the hooks around it. */
  aroundRun(ctx: object, work: () => Events): Events;
  /** The run of any agent, between the hooks around it. */
  aroundAgent(agent: object, ctx: object, work: () => Events): Events;
  /** An agent with the plugins' hooks ahead of its own. */
  settingsOf<A extends object>(agent: A): A;
  /** What is stored of a whole Event. */
  review(ctx: object, event: Event, steps: Steps): Promise<Event>;
}
