import type {AgentHooks} from '../agents/agent-hook.ts';
import type {BaseAgent} from '../agents/base-agent.ts';
import type {BasePlugin} from '../agents/base-plugin.ts';
import {LlmAgent} from '../agents/llm/llm-agent.ts';
import type {LlmAgentSettings} from '../agents/llm/llm-agent-config.ts';
import {HookError} from '../errors.ts';

type Hooks = AgentHooks & Pick<LlmAgentSettings, Extract<keyof LlmAgentSettings, `${string}Callback`>>;
type Lists = {readonly [K in keyof Hooks]: (plugin: BasePlugin, agent: BaseAgent) => Hooks[K][number] | undefined};

/** A plugin's hook in the form of an agent's callback. Nothing where the plugin has none: an agent without callbacks costs nothing. */
const CALLBACKS: Lists = {
  beforeAgentCallback: (plugin, agent) =>
    plugin.beforeAgentCallback && ((callbackContext) => plugin.beforeAgentCallback?.({agent, callbackContext})),
  afterAgentCallback: (plugin, agent) =>
    plugin.afterAgentCallback && ((callbackContext) => plugin.afterAgentCallback?.({agent, callbackContext})),
  beforeModelCallback: (plugin) =>
    plugin.beforeModelCallback && (({context, request}) => plugin.beforeModelCallback?.({callbackContext: context, llmRequest: request})),
  afterModelCallback: (plugin) =>
    plugin.afterModelCallback && (({context, response}) => plugin.afterModelCallback?.({callbackContext: context, llmResponse: response})),
  onModelErrorCallback: (plugin) =>
    plugin.onModelErrorCallback &&
    (({context, request, error}) => plugin.onModelErrorCallback?.({callbackContext: context, llmRequest: request, error})),
  beforeToolCallback: (plugin) =>
    plugin.beforeToolCallback && (({tool, args, context}) => plugin.beforeToolCallback?.({tool, toolArgs: args, toolContext: context})),
  afterToolCallback: (plugin) =>
    plugin.afterToolCallback &&
    (({tool, args, context, response}) => plugin.afterToolCallback?.({tool, toolArgs: args, toolContext: context, result: response})),
  onToolErrorCallback: (plugin) =>
    plugin.onToolErrorCallback &&
    (({tool, args, context, error}) => plugin.onToolErrorCallback?.({tool, toolArgs: args, toolContext: context, error})),
};

/** An agent's settings with the plugins' hooks ahead of its own; everything else is the agent's. */
export function agentWithPlugins<A extends AgentHooks>(agent: A & BaseAgent, plugins: readonly BasePlugin[]): A {
  const settings = Object.create(agent) as A;
  for (const [hook, callbackOf] of Object.entries(CALLBACKS)) {
    const own = agent[hook as keyof A] as readonly unknown[] | undefined;
    if (!own) continue;
    const given = plugins.flatMap((plugin) => named(plugin, hook, callbackOf(plugin, agent)) ?? []);
    Object.defineProperty(settings, hook, {value: [...given, ...own]});
  }
  // The pool that a first call finds is the agent's, which the runner closes.
  if (agent instanceof LlmAgent) {
    Object.defineProperty(settings, 'executor', {
      get: () => agent.executor,
      set(pool: LlmAgent['executor']) {
        agent.executor = pool;
      },
    });
  }
  return settings;
}

/** The callback, whose failure names the plugin and not the agent. */
function named(
  plugin: BasePlugin,
  hook: string,
  callback: ((params: never) => unknown) | undefined,
): ((params: never) => unknown) | undefined {
  return (
    callback &&
    (async (params) => {
      try {
        return await callback(params);
      } catch (error) {
        throw error instanceof HookError ? error : new HookError(hook, plugin.name, error);
      }
    })
  );
}
