import type {AgentHooks} from '../agents/agent-hook.ts';
import type {BaseAgent} from '../agents/base-agent.ts';
import type {BasePlugin} from '../agents/base-plugin.ts';
import type {LlmAgentSettings} from '../agents/llm/llm-agent-config.ts';
import type {LlmRequest} from '../models/llm-request.ts';

type Hooks = AgentHooks & Pick<LlmAgentSettings, Extract<keyof LlmAgentSettings, `${string}Callback`>>;
type Adapters = {readonly [K in keyof Hooks]: (plugin: BasePlugin, agent: BaseAgent) => Hooks[K][number] | undefined};

/** A plugin's hook in the form of an agent's callback; nothing where the plugin has none, since what is not hooked must cost nothing. */
const ADAPTERS: Adapters = {
  beforeAgentCallback: (plugin, agent) =>
    plugin.beforeAgentCallback && ((callbackContext) => plugin.beforeAgentCallback?.({agent, callbackContext})),
  afterAgentCallback: (plugin, agent) =>
    plugin.afterAgentCallback && ((callbackContext) => plugin.afterAgentCallback?.({agent, callbackContext})),
  beforeModelCallback: (plugin, agent) =>
    plugin.beforeModelCallback &&
    (({context, request}) => {
      askedBy.set(request, agent);
      return plugin.beforeModelCallback?.({callbackContext: context, llmRequest: request});
    }),
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

/** The agents whose requests plugins have seen. ADK's hook does not tell. */
const askedBy = new WeakMap<LlmRequest, BaseAgent>();

/** Whether a request that a plugin is shown begins with an agent's `staticInstruction`. */
export function hasStaticInstruction(request: LlmRequest): boolean {
  return !!(askedBy.get(request) as Partial<LlmAgentSettings> | undefined)?.staticInstruction;
}

type Callback = (params: never) => unknown;

/**
 * The agent as a run with plugins sees it: in each list of callbacks the plugins' stand ahead of its own, and all else is the agent itself.
 *
 * A proxy and not a copy: what is set on it, such as the pool of an agent's first `worker` tool, is set on the agent, which the runner closes;
 * and getters of the user's own class see the object that they were written for.
 */
export function agentWithPlugins<A extends AgentHooks>(agent: A & BaseAgent, plugins: readonly BasePlugin[]): A {
  const lists = new Map<PropertyKey, readonly unknown[]>();
  for (const [hook, adapt] of Object.entries(ADAPTERS)) {
    const own = agent[hook as keyof A] as readonly unknown[] | undefined;
    if (!own) continue;
    const callbacks = plugins.map((plugin) => named(plugin, adapt(plugin, agent))).filter((callback) => callback !== undefined);
    lists.set(hook, [...callbacks, ...own]);
  }
  return new Proxy<A>(agent, {
    get: (target, key): unknown => lists.get(key) ?? Reflect.get(target, key),
    set: (target, key, value): boolean => Reflect.set(target, key, value),
  });
}

/** The callback, which goes by the plugin's name where it fails or does not let go. */
function named(plugin: BasePlugin, callback: Callback | undefined): Callback | undefined {
  return callback && Object.assign(callback, {plugin: plugin.name});
}
