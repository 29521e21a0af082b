import {AgentTool} from '../../agents/agent-tool.ts';
import {LlmAgent} from '../../agents/llm/llm-agent.ts';
import type {BaseAgent} from '../../agents/base-agent.ts';
import type {BasePlugin} from '../../agents/base-plugin.ts';
import {WorkflowAgent} from '../../agents/workflow/workflow-agent.ts';
import {Context} from '../../context/context.ts';
import type {BaseLlm} from '../../models/base-llm.ts';
import {copyJson} from '../../schema/json-copy.ts';
import type {AppendEventRequest, BaseSessionService} from '../../sessions/base-session-service.ts';
import {BaseTool} from '../../tools/base-tool.ts';
import type {Watch} from './watch.ts';

type Method = (this: unknown, ...args: never[]) => unknown;

const AGENT_HOOKS = ['beforeAgentCallback', 'afterAgentCallback'] as const;
const LLM_HOOKS = [
  'beforeModelCallback',
  'afterModelCallback',
  'onModelErrorCallback',
  'beforeToolCallback',
  'afterToolCallback',
  'onToolErrorCallback',
] as const;
const PLUGIN_HOOKS = [
  ...AGENT_HOOKS,
  ...LLM_HOOKS,
  'onUserMessageCallback',
  'beforeRunCallback',
  'onEventCallback',
  'afterRunCallback',
  'onRunErrorCallback',
  'onAgentErrorCallback',
] as const;
const STORE_METHODS = ['getSession', 'createSession', 'claimSession', 'deleteSession', 'appendEvent'] as const;

/** Puts a watch in front of everything that a run calls of the user's, object by object, and takes it away again. */
export class Patches implements Disposable {
  readonly #watch: Watch;
  readonly #restore: (() => void)[] = [];
  readonly #patched = new WeakSet<object>();

  constructor(watch: Watch) {
    this.#watch = watch;
  }

  /** Watches an agent and all below it. */
  agent(agent: BaseAgent): void {
    if (this.#isPatched(agent)) return;
    for (const hook of AGENT_HOOKS) this.#hooks(agent, hook);
    if (agent instanceof LlmAgent) this.#llmAgent(agent);
    else if (!(agent instanceof WorkflowAgent)) this.#generator(agent, 'runAsyncImpl', agent.name);
    for (const below of agent.subAgents) this.agent(below);
  }

  /** Watches the hooks of a plugin. */
  plugin(plugin: BasePlugin): void {
    if (this.#isPatched(plugin)) return;
    for (const hook of PLUGIN_HOOKS) if (plugin[hook]) this.#async(plugin, hook, `${hook} of ${plugin.name}`);
  }

  store(service: BaseSessionService): void {
    for (const method of STORE_METHODS) {
      if (!service[method]) continue;
      this.#wrap(service, method, (original, args, owner) => {
        const [{event, session}] = args as unknown as [Partial<AppendEventRequest>];
        const before = session && [...session.events];
        return this.#watch.call({kind: 'store', name: method, event, before}, () => original.apply(owner, args));
      });
    }
  }

  [Symbol.dispose](): void {
    for (const restore of this.#restore.splice(0).toReversed()) restore();
  }

  #llmAgent(agent: LlmAgent): void {
    for (const hook of LLM_HOOKS) this.#hooks(agent, hook);
    this.#model(agent.canonicalModel);
    if (typeof agent.instruction === 'function') this.#async(agent, 'instruction', `instruction of ${agent.name}`);
    for (const union of agent.tools) {
      if (union instanceof BaseTool) this.#tool(union);
      else
        this.#async(union, 'getTools', `toolsets of ${agent.name}`, (tools) => (tools as BaseTool[]).forEach((tool) => this.#tool(tool)));
    }
  }

  #model(model: BaseLlm): void {
    if (this.#isPatched(model)) return;
    this.#wrap(model, 'generateContentAsync', (original, args, owner) => {
      const [request, , signal] = args as unknown as Parameters<BaseLlm['generateContentAsync']>;
      const facts = {kind: 'model', name: model.model, request: copyJson(request), signal} as const;
      return this.#watch.generator(facts, () => original.apply(owner, args) as ReturnType<BaseLlm['generateContentAsync']>);
    });
  }

  #tool(tool: BaseTool): void {
    if (this.#isPatched(tool)) return;
    this.#wrap(tool, 'runAsync', (original, args, owner) => {
      const [{toolContext: context}] = args as unknown as Parameters<BaseTool['runAsync']>;
      const {abortSignal: signal, functionCallId, actions} = context;
      const {name, timeoutMs, requireConfirmation} = tool;
      const needsConfirmation = requireConfirmation === true;
      const facts = {kind: 'tool', name, signal, functionCallId, timeoutMs, needsConfirmation, actions, context} as const;
      return this.#watch.tool(facts, () => original.apply(owner, args));
    });
    if (tool instanceof AgentTool) this.agent(tool.agent);
  }

  #hooks(agent: BaseAgent, name: string): void {
    const hooks = (agent as unknown as Record<string, readonly Method[]>)[name] ?? [];
    const watched = hooks.map(
      (hook) =>
        (...args: never[]): unknown =>
          this.#watch.call({kind: 'hook', name: `${name} of ${agent.name}`, context: contextIn(args)}, () => hook(...args)),
    );
    if (hooks.length > 0) this.#replace(agent, name, watched);
  }

  #async(owner: object, method: string, name: string, onValue: (value: unknown) => void = () => {}): void {
    if (this.#isPatched(owner) && method === 'getTools') return;
    this.#wrap(owner, method, (original, args, self) =>
      this.#watch.call({kind: 'hook', name, context: contextIn(args)}, async () => {
        const value = await original.apply(self, args);
        onValue(value);
        return value;
      }),
    );
  }

  #generator(owner: object, method: string, name: string): void {
    this.#wrap(owner, method, (original, args, self) =>
      this.#watch.agent({kind: 'agent', name}, () => original.apply(self, args) as AsyncGenerator<unknown, unknown, undefined>),
    );
  }

  #wrap(owner: object, method: string, wrapper: (original: Method, args: never[], owner: unknown) => unknown): void {
    const original = (owner as Record<string, Method>)[method];
    if (!original) return;
    this.#replace(owner, method, function (this: unknown, ...args: never[]): unknown {
      return wrapper(original, args, this);
    });
  }

  #replace(owner: object, key: string, value: unknown): void {
    const own = Object.getOwnPropertyDescriptor(owner, key);
    Object.defineProperty(owner, key, {value, configurable: true, writable: true, enumerable: own?.enumerable ?? false});
    this.#restore.push(() => {
      if (own) Object.defineProperty(owner, key, own);
      else Reflect.deleteProperty(owner, key);
    });
  }

  #isPatched(owner: object): boolean {
    if (this.#patched.has(owner)) return true;
    this.#patched.add(owner);
    return false;
  }
}

/** Where a callback's context stands: it is the argument, or in it. */
function contextIn([first]: readonly unknown[]): Context | undefined {
  if (first instanceof Context) return first;
  const {context, callbackContext, toolContext} = (first ?? {}) as Record<string, unknown>;
  return [context, callbackContext, toolContext].find((it) => it instanceof Context);
}
