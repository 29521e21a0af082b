import type {InvocationContext} from '../agents/base-agent.ts';
import type {BasePlugin} from '../agents/base-plugin.ts';
import {HookError} from '../errors.ts';

/** What a run calls of a plugin by itself; the rest are callbacks of its agents. */
export type RunHook =
  | 'onUserMessageCallback'
  | 'beforeRunCallback'
  | 'onEventCallback'
  | 'afterRunCallback'
  | 'onRunErrorCallback'
  | 'onAgentErrorCallback';

/** Calls the plugins of one run. */
export class PluginCalls {
  readonly plugins: readonly BasePlugin[];
  /** Hooks that were left behind: they took longer than a stop may. */
  readonly deaf: Set<RunHook> = new Set();

  constructor(plugins: readonly BasePlugin[]) {
    this.plugins = plugins;
  }

  has(hook: RunHook): boolean {
    return this.plugins.some((plugin) => plugin[hook]);
  }

  /** Asks the plugins that have the hook, in order, up to the first result. After a stop only Events are shown: they complete what was done. */
  async first<R>(
    ctx: InvocationContext,
    hook: RunHook,
    call: (plugin: BasePlugin) => Promise<R | undefined | void>,
  ): Promise<R | undefined> {
    for (const plugin of this.plugins) {
      if (!plugin[hook]) continue;
      if (hook !== 'onEventCallback') ctx.run.life.throwIfEnded();
      const given = await this.one(ctx, {plugin, hook}, () => call(plugin));
      if (given !== undefined) return given;
    }
    return undefined;
  }

  /** @throws {@link HookError} around what the hook throws */
  async one<R>(
    {run}: InvocationContext,
    {plugin, hook}: {plugin: BasePlugin; hook: RunHook},
    call: () => R | undefined | void | Promise<R | undefined | void>,
  ): Promise<R | undefined | void> {
    let isLeft = false;
    const revoke = (): void => {
      isLeft = true;
      this.deaf.add(hook);
    };
    const leave = run.open.enter({name: `${hook} of ${plugin.name}`, revoke});
    try {
      const given = await call();
      // What comes after the run has gone on without it must not reach the session.
      if (isLeft) throw run.life.reason;
      return given;
    } catch (error) {
      throw error instanceof HookError ? error : new HookError(hook, plugin.name, error);
    } finally {
      leave();
    }
  }
}
