import {agentEvent} from '../agents/agent-event.ts';
import {betweenCallbacks, type AgentHooks} from '../agents/agent-hook.ts';
import {InvocationContext, type BaseAgent} from '../agents/base-agent.ts';
import type {BasePlugin} from '../agents/base-plugin.ts';
import {callbackContext} from '../agents/callbacks.ts';
import {checkContent} from '../agents/check-content.ts';
import type {Closing} from '../agents/open-work.ts';
import type {PluginHooks} from '../agents/plugin-hooks.ts';
import type {Content} from '../content.ts';
import {isIdle, type EventActions} from '../events/event-actions.ts';
import type {Event} from '../events/event.ts';
import {copyJson} from '../schema/json-copy.ts';
import type {Steps} from '../steps/steps.ts';
import {agentWithPlugins} from './agent-with-plugins.ts';
import {EventReview} from './event-review.ts';
import {PluginCalls} from './plugin-calls.ts';
import {checkMessage} from './rewritten.ts';

type Events = AsyncGenerator<Event, void, undefined>;

/** The plugins of a runner, in their order, in one run. Every call of theirs is part of a step: a replay asks nobody. */
export class PluginChain implements PluginHooks {
  readonly #calls: PluginCalls;
  readonly #review: EventReview;
  readonly #agents = new Map<object, unknown>();
  /** The place of the root agent, from the first hook on. */
  #ctx: InvocationContext | undefined;
  /** By plugin, what takes its `afterRunCallback` out of the closing. */
  readonly #afterRuns = new Map<BasePlugin, () => void>();

  constructor(plugins: readonly BasePlugin[]) {
    this.#calls = new PluginCalls(plugins);
    this.#review = new EventReview(this.#calls);
  }

  async userMessage(ctx: InvocationContext, message: Content): Promise<Content> {
    this.#begin(ctx);
    if (!this.#calls.has('onUserMessageCallback')) return message;
    const said = await ctx.run.steps.step('onUserMessageCallback', async () => {
      const userMessage = copyJson(message);
      const given = await this.#calls.first(ctx, 'onUserMessageCallback', async (plugin) => {
        const answer = await plugin.onUserMessageCallback?.({invocationContext: ctx, userMessage});
        checkMessage(message, answer ?? userMessage, plugin.name);
        return answer;
      });
      return given ?? userMessage;
    });
    ctx.run.life.throwIfEnded();
    return said;
  }

  async *aroundRun(ctx: InvocationContext, work: () => Events): Events {
    this.#begin(ctx);
    const content = await this.#beforeRun(ctx);
    ctx.run.life.throwIfEnded();
    if (content) yield await newEvent(ctx, {content: {...content, role: 'model'}});
    else yield* work();
    for (const plugin of this.#calls.plugins) {
      // After a stop the closing calls those that are left.
      ctx.run.life.throwIfEnded();
      this.#afterRuns.get(plugin)?.();
      await this.#afterRun(plugin, ctx.live);
    }
  }

  async *aroundAgent(agent: BaseAgent, ctx: InvocationContext, work: () => Events): Events {
    try {
      yield* betweenCallbacks(this.settingsOf(agent), ctx, ctx.live, work);
    } catch (error) {
      const actions = ctx.run.life.ended ? undefined : await this.#tellAgentError(agent, ctx, error);
      if (actions && !isIdle(actions)) yield await newEvent(ctx, {actions});
      throw error;
    }
  }

  settingsOf<A extends object>(agent: A): A {
    const known = this.#agents.get(agent) as A | undefined;
    const settings = known ?? agentWithPlugins(agent as A & AgentHooks & BaseAgent, this.#calls.plugins);
    if (!known) this.#agents.set(agent, settings);
    return settings;
  }

  review(ctx: InvocationContext, event: Event, steps: Steps): Promise<Event> {
    return this.#review.review(ctx, event, steps);
  }

  /** From its first hook on a run tells every plugin of its end, however it ends, and whatever another plugin does. */
  #begin(ctx: InvocationContext): void {
    ctx.run.life.throwIfEnded();
    const isFirst = this.#ctx === undefined;
    this.#ctx = ctx;
    // What was added last is closed first.
    for (const plugin of isFirst ? this.#calls.plugins.toReversed() : []) {
      const close = (closing: Closing): Promise<Event[]> => this.#afterRun(plugin, closing).then(() => []);
      if (plugin.afterRunCallback) this.#afterRuns.set(plugin, ctx.run.open.add({close}));
    }
    if (isFirst) ctx.run.open.add({close: (closing) => this.#tellRunError(closing)});
  }

  async #beforeRun(ctx: InvocationContext): Promise<Content | undefined> {
    if (!this.#calls.has('beforeRunCallback')) return undefined;
    const content = await ctx.run.steps.step('beforeRunCallback', async () => {
      const given = await this.#calls.first(ctx, 'beforeRunCallback', async (plugin) => {
        const answer = await plugin.beforeRunCallback?.({invocationContext: ctx});
        if (answer !== undefined && answer !== null) checkContent(answer, `the content of ${plugin.name}`);
        return answer;
      });
      return given ?? null;
    });
    return content ?? undefined;
  }

  async #afterRun(plugin: BasePlugin, closing: Closing): Promise<void> {
    if (!plugin.afterRunCallback) return;
    const invocationContext = this.#contextIn(closing);
    await closing.steps.step(`afterRunCallback of ${plugin.name}`, async () => {
      await this.#calls.one(invocationContext, {plugin, hook: 'afterRunCallback'}, () => plugin.afterRunCallback?.({invocationContext}));
      return null;
    });
  }

  /** Whatever a run fails with, be it a store or a hook, is known when it closes, and not where its agents run. */
  async #tellRunError({failure, ...closing}: Closing): Promise<Event[]> {
    if (!failure) return [];
    const invocationContext = this.#contextIn(closing);
    await this.#calls.first(invocationContext, 'onRunErrorCallback', async (plugin) => {
      await plugin.onRunErrorCallback?.({invocationContext, error: failure.reason});
    });
    return [];
  }

  /** A place of its own: the agents may have lost theirs, and while the run closes there is another signal. */
  #contextIn({steps, life}: Closing): InvocationContext {
    if (!this.#ctx) throw new TypeError('The run has not begun');
    const {run, agent, branch} = this.#ctx;
    return new InvocationContext({...run, steps, life}, agent, branch);
  }

  async #tellAgentError(agent: BaseAgent, ctx: InvocationContext, error: unknown): Promise<EventActions | undefined> {
    if (!this.#calls.has('onAgentErrorCallback')) return undefined;
    return ctx.run.steps.step(`onAgentErrorCallback ${agent.name}`, async () => {
      const {context, actions} = callbackContext(ctx.source, {life: ctx.run.life});
      const told = this.#calls.first(ctx, 'onAgentErrorCallback', async (plugin) => {
        await plugin.onAgentErrorCallback?.({agent, callbackContext: context, error});
      });
      await told.finally(() => context.revoke());
      return actions;
    });
  }
}

async function newEvent(ctx: InvocationContext, params: Partial<Event>): Promise<Event> {
  return ctx.run.open.complete(await agentEvent(ctx, ctx.run.steps, params));
}
