import {betweenCallbacks, type AgentHooks} from '../agents/agent-hook.ts';
import type {BaseAgent, InvocationContext} from '../agents/base-agent.ts';
import type {BasePlugin} from '../agents/base-plugin.ts';
import {callbackContext} from '../agents/callbacks.ts';
import {checkUserParts} from '../agents/user-parts.ts';
import type {PluginHooks} from '../agents/plugin-hooks.ts';
import type {Content} from '../content.ts';
import {HookError} from '../errors.ts';
import {createEvent, type Event} from '../events/event.ts';
import {checkEvent} from '../runner/run-events.ts';
import {inProcessSteps} from '../steps/in-process-steps.ts';
import type {Steps} from '../steps/steps.ts';
import {agentWithPlugins} from './agent-with-plugins.ts';

type Events = AsyncGenerator<Event, void, undefined>;
type Hook = Exclude<keyof BasePlugin, 'name' | 'close'>;

/** The plugins of a runner, in their order. */
export class PluginChain implements PluginHooks {
  readonly #plugins: readonly BasePlugin[];
  readonly #agents = new WeakMap<BaseAgent, unknown>();

  constructor(plugins: readonly BasePlugin[]) {
    this.#plugins = plugins;
  }

  async userMessage(ctx: InvocationContext, message: Content): Promise<Content> {
    const said = await this.#first(ctx, 'onUserMessageCallback', (plugin) =>
      plugin.onUserMessageCallback?.({invocationContext: ctx, userMessage: message}),
    );
    if (said) checkUserParts(said.parts ?? [], 'the parts of onUserMessageCallback');
    return said ?? message;
  }

  async *aroundRun(ctx: InvocationContext, work: () => Events): Events {
    const {open, life, steps} = ctx.run;
    const afterRun = async (at: Steps): Promise<Event[]> => {
      await this.#each(ctx, 'afterRunCallback', (plugin) => plugin.afterRunCallback?.({invocationContext: ctx}), at);
      return [];
    };
    const finished = open.add({close: () => afterRun(inProcessSteps)});
    const content = await this.#first(ctx, 'beforeRunCallback', (plugin) => plugin.beforeRunCallback?.({invocationContext: ctx}));
    try {
      life.throwIfEnded();
      if (content) yield open.complete(await newEvent(ctx, content));
      else yield* work();
    } catch (error) {
      if (!life.ended) {
        await this.#each(ctx, 'onRunErrorCallback', (plugin) => plugin.onRunErrorCallback?.({invocationContext: ctx, error}), steps);
      }
      throw error;
    }
    finished();
    await afterRun(steps);
  }

  async *aroundAgent(agent: BaseAgent, ctx: InvocationContext, work: () => Events): Events {
    try {
      yield* betweenCallbacks(this.settingsOf<AgentHooks>(agent), ctx, ctx.live, work);
    } catch (error) {
      if (!ctx.run.life.ended) {
        await this.#each(
          ctx,
          'onAgentErrorCallback',
          async (plugin) => {
            const {context} = callbackContext(ctx.source, {life: ctx.run.life});
            try {
              await plugin.onAgentErrorCallback?.({agent, callbackContext: context, error});
            } finally {
              context.revoke();
            }
          },
          ctx.run.steps,
        );
      }
      throw error;
    }
  }

  settingsOf<A extends AgentHooks>(agent: A & BaseAgent): A {
    const known = this.#agents.get(agent);
    const settings = (known as A | undefined) ?? agentWithPlugins(agent, this.#plugins);
    if (!known) this.#agents.set(agent, settings);
    return settings;
  }

  async review(ctx: InvocationContext, event: Event, steps: Steps): Promise<Event> {
    if (!this.#has('onEventCallback')) return event;
    let reviewed = event;
    await this.#each(
      ctx,
      'onEventCallback',
      async (plugin) => {
        const changed = await plugin.onEventCallback?.({invocationContext: ctx, event: reviewed});
        if (changed) reviewed = {...checkEvent(changed, ctx.invocationId, plugin.name), id: event.id};
      },
      steps,
    );
    return reviewed;
  }

  #has(hook: Hook): boolean {
    return this.#plugins.some((plugin) => plugin[hook]);
  }

  /** The first result, recorded: a replay asks nobody. */
  async #first<R>(
    ctx: InvocationContext,
    hook: Hook,
    call: (plugin: BasePlugin) => R | undefined | void | Promise<R | undefined | void>,
  ): Promise<R | undefined> {
    if (!this.#has(hook)) return undefined;
    const result = await ctx.run.steps.step(hook, async () => {
      for (const plugin of this.#plugins) {
        ctx.run.life.throwIfEnded();
        const given = await this.#call(ctx, {plugin, hook}, call);
        if (given !== undefined) return given;
      }
      return null;
    });
    return result ?? undefined;
  }

  /** Every plugin in turn. */
  async #each(ctx: InvocationContext, hook: Hook, call: (plugin: BasePlugin) => void | Promise<void>, steps: Steps): Promise<void> {
    if (!this.#has(hook)) return;
    await steps.step(hook, async () => {
      for (const plugin of this.#plugins) await this.#call(ctx, {plugin, hook}, call);
      return null;
    });
  }

  async #call<R>(
    ctx: InvocationContext,
    {plugin, hook}: {plugin: BasePlugin; hook: Hook},
    call: (plugin: BasePlugin) => R,
  ): Promise<Awaited<R>> {
    const leave = ctx.run.open.enter({name: `${hook} of ${plugin.name}`});
    try {
      return await call(plugin);
    } catch (error) {
      throw error instanceof HookError ? error : new HookError(hook, plugin.name, error);
    } finally {
      leave();
    }
  }
}

async function newEvent(ctx: InvocationContext, content: Content): Promise<Event> {
  const {steps} = ctx.run;
  return createEvent({
    id: await steps.uuid(),
    timestamp: await steps.now(),
    invocationId: ctx.invocationId,
    author: ctx.agentName,
    content: {role: 'model', ...content},
  });
}
