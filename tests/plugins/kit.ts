import {BasePlugin, FunctionTool, type LlmAgentConfig} from 'sluice';
import {functionCalls, type ScriptedStep} from 'sluice/testing';

export type Hook = Exclude<keyof BasePlugin, 'name'>;
export type Hooks = {readonly [K in Hook]?: BasePlugin[K]};

export const HOOKS: readonly Hook[] = [
  'onUserMessageCallback',
  'beforeRunCallback',
  'onEventCallback',
  'afterRunCallback',
  'onRunErrorCallback',
  'beforeAgentCallback',
  'afterAgentCallback',
  'onAgentErrorCallback',
  'beforeModelCallback',
  'afterModelCallback',
  'onModelErrorCallback',
  'beforeToolCallback',
  'afterToolCallback',
  'onToolErrorCallback',
  'close',
];

class PluginOf extends BasePlugin {}

/** A plugin of these hooks. */
export function pluginOf(name: string, hooks: Hooks = {}): BasePlugin {
  return Object.assign(new PluginOf(name), hooks);
}

/** A plugin that has every hook and notes each call; these hooks do something besides. */
export function noting(name: string, log: string[], hooks: Hooks = {}): BasePlugin {
  const all = HOOKS.map((hook) => {
    const own = hooks[hook] as ((params: unknown) => unknown) | undefined;
    return [
      hook,
      (params: unknown) => {
        log.push(`${name} ${hook}`);
        return own?.(params);
      },
    ];
  });
  return pluginOf(name, Object.fromEntries(all) as Hooks);
}

/** A hook that never lets go, and what tells that it was called. */
export function deafHook(): {readonly hook: () => Promise<undefined>; readonly called: Promise<void>} {
  const {promise: called, resolve} = Promise.withResolvers<void>();
  return {
    called,
    hook: () => {
      resolve();
      return new Promise(() => {});
    },
  };
}

export const echo: FunctionTool = new FunctionTool({name: 'echo', description: 'Says it again.', execute: () => 'said'});
export const broken: FunctionTool = new FunctionTool({
  name: 'broken',
  description: 'Fails.',
  execute: () => {
    throw new Error('out of order');
  },
});

/** What an agent does so that a hook is called once. */
export function occasion(hook: Hook): {readonly steps: readonly ScriptedStep[]; readonly agent: Partial<LlmAgentConfig>} {
  if (/^(onModel|onAgent|onRun)Error/.test(hook)) return {steps: [new Error('no model')], agent: {}};
  if (hook === 'onToolErrorCallback') return {steps: [functionCalls({name: 'broken'}), 'done'], agent: {tools: [broken]}};
  if (/Tool/.test(hook)) return {steps: [functionCalls({name: 'echo'}), 'done'], agent: {tools: [echo]}};
  return {steps: ['done'], agent: {}};
}
