import type {GenerateContentConfig} from '../../content.ts';
import type {Context} from '../../context/context.ts';
import {expectOption, type ModelError} from '../../errors.ts';
import {BaseLlm} from '../../models/base-llm.ts';
import type {LlmRequest} from '../../models/llm-request.ts';
import type {LlmResponse} from '../../models/llm-response.ts';
import {LLMRegistry} from '../../models/llm-registry.ts';
import {
  anyOf,
  checkOptions,
  has,
  isAnything,
  isBoolean,
  isFunction,
  isName,
  isObject,
  isOneOf,
  isString,
  optional,
  type OptionSpec,
} from '../../schema/options.ts';
import type {OutputSchema, ParametersSchema} from '../../schema/parameters.ts';
import {BaseTool} from '../../tools/base-tool.ts';
import {BaseToolset} from '../../tools/base-toolset.ts';
import type {ToolExecutor} from '../../tools/tool-executor.ts';
import type {BaseAgentConfig} from '../base-agent.ts';
import {isCallbacks, type Callbacks} from '../callbacks.ts';

type Maybe<T> = T | undefined | void | Promise<T | undefined | void>;

/** Writes the instruction for each request; what it returns is used as it is, without templating. */
export type InstructionProvider = (context: Context) => string | Promise<string>;
/** A response from it stands in for the model's. It may change the request in place. */
export type BeforeModelCallback = (params: {context: Context; request: LlmRequest}) => Maybe<LlmResponse>;
/** Called for every response, partial ones too; a response from it replaces the one it was given. */
export type AfterModelCallback = (params: {context: Context; response: LlmResponse}) => Maybe<LlmResponse>;
/** Called when the model failed for good, never for a stop; a response from it stands in for the reply. */
export type OnModelErrorCallback = (params: {context: Context; request: LlmRequest; error: ModelError}) => Maybe<LlmResponse>;
/** A response from it stands in for the tool's. It may change the arguments in place. */
export type BeforeToolCallback = (params: {
  tool: BaseTool;
  args: Record<string, unknown>;
  context: Context;
}) => Maybe<Record<string, unknown>>;
/** A response from it replaces the tool's. */
export type AfterToolCallback = (params: {
  tool: BaseTool;
  args: Record<string, unknown>;
  context: Context;
  response: Record<string, unknown>;
}) => Maybe<Record<string, unknown>>;
/** Called when a tool threw, timed out or refused its arguments, never for a stop; a response from it stands in for the error. */
export type OnToolErrorCallback = (params: {
  tool: BaseTool;
  args: Record<string, unknown>;
  context: Context;
  error: unknown;
}) => Maybe<Record<string, unknown>>;

/** What an `LlmAgent` is made of. */
export interface LlmAgentConfig<T = unknown> extends BaseAgentConfig {
  /** A model, or the name of one that `LLMRegistry` knows. Default: that of the nearest `LlmAgent` above. */
  readonly model?: string | BaseLlm | undefined;
  /**
   * Tells the model who it is. In a string, `{key}` is filled in from the state and `{artifact.name}` with the text of an artifact; `{key?}`
   * and `{artifact.name?}` also where it is missing. Default `''`.
   */
  readonly instruction?: string | InstructionProvider | undefined;
  /** Stands before the instruction of every agent of the tree, and is filled in like it; that of the root agent counts alone. Default `''`. */
  readonly globalInstruction?: string | InstructionProvider | undefined;
  /**
   * Sent first and as it is, without templating, so that a provider can cache it. The other instructions then do not stand in the system
   * instruction but in a content before the user's latest message. Default: none.
   */
  readonly staticInstruction?: GenerateContentConfig['systemInstruction'] | undefined;
  readonly tools?: readonly (BaseTool | BaseToolset)[] | undefined;
  /** Sent with every request; instruction and tools have options of their own. */
  readonly generateContentConfig?: GenerateContentConfig | undefined;
  /** `'none'`: the model sees the current turn only. Default `'default'`. */
  readonly includeContents?: 'default' | 'none' | undefined;
  /** The state key that takes the text of the final reply. */
  readonly outputKey?: string | undefined;
  /**
   * The form of the agent's output: a schema of an object, as for a tool's parameters. The last Event then has the checked `output`, and
   * `outputKey` takes that. A model that gets it wrong is asked again, twice at most; then the Event has the errorCode `INVALID_OUTPUT`.
   */
  readonly outputSchema?: OutputSchema<T> | undefined;
  /** What a call of the agent as a tool takes; see {@link AgentTool}. Default: a `request`, in words. */
  readonly inputSchema?: ParametersSchema | undefined;
  /** `true`: the model cannot hand the conversation back to the agent above it. Default `false`. */
  readonly disallowTransferToParent?: boolean | undefined;
  /** `true`: the model cannot hand the conversation over to the other agents below its parent. Default `false`. */
  readonly disallowTransferToPeers?: boolean | undefined;
  /** Where bodies of `worker` tools run: a `WorkerPool` of `sluice/workers`. Default: one of at most 8 threads, shared by all agents. */
  readonly executor?: ToolExecutor | undefined;
  readonly beforeModelCallback?: Callbacks<BeforeModelCallback> | undefined;
  readonly afterModelCallback?: Callbacks<AfterModelCallback> | undefined;
  readonly onModelErrorCallback?: Callbacks<OnModelErrorCallback> | undefined;
  readonly beforeToolCallback?: Callbacks<BeforeToolCallback> | undefined;
  readonly afterToolCallback?: Callbacks<AfterToolCallback> | undefined;
  readonly onToolErrorCallback?: Callbacks<OnToolErrorCallback> | undefined;
}

/** What the steps of the loop need of an agent: its options with every list in its place. */
export interface LlmAgentSettings {
  readonly name: string;
  readonly canonicalModel: BaseLlm;
  readonly instruction: string | InstructionProvider;
  readonly globalInstruction: string | InstructionProvider | undefined;
  readonly staticInstruction: GenerateContentConfig['systemInstruction'] | undefined;
  readonly tools: readonly (BaseTool | BaseToolset)[];
  readonly generateContentConfig: GenerateContentConfig | undefined;
  /** Set by the first call that needs one. */
  executor: ToolExecutor | undefined;
  readonly beforeModelCallback: readonly BeforeModelCallback[];
  readonly afterModelCallback: readonly AfterModelCallback[];
  readonly onModelErrorCallback: readonly OnModelErrorCallback[];
  readonly beforeToolCallback: readonly BeforeToolCallback[];
  readonly afterToolCallback: readonly AfterToolCallback[];
  readonly onToolErrorCallback: readonly OnToolErrorCallback[];
}

const isInstruction = optional(anyOf(isString, isFunction));

const OPTIONS: OptionSpec<LlmAgentConfig> = {
  name: isAnything,
  description: isAnything,
  subAgents: isAnything,
  beforeAgentCallback: isAnything,
  afterAgentCallback: isAnything,
  model: optional({
    expected: 'a BaseLlm or the name of a model',
    accepts: (value) => typeof value === 'string' || value instanceof BaseLlm,
  }),
  instruction: isInstruction,
  globalInstruction: isInstruction,
  staticInstruction: optional({
    expected: 'a string, a content or parts',
    accepts: (value) => typeof value === 'string' || (typeof value === 'object' && value !== null),
  }),
  tools: optional({expected: 'an array of tools and toolsets', accepts: Array.isArray}),
  generateContentConfig: optional(isObject),
  includeContents: optional(isOneOf(['default', 'none'])),
  outputKey: optional(isName),
  outputSchema: isAnything,
  inputSchema: isAnything,
  disallowTransferToParent: optional(isBoolean),
  disallowTransferToPeers: optional(isBoolean),
  executor: optional(has('enter', 'a WorkerPool')),
  beforeModelCallback: isCallbacks,
  afterModelCallback: isCallbacks,
  onModelErrorCallback: isCallbacks,
  beforeToolCallback: isCallbacks,
  afterToolCallback: isCallbacks,
  onToolErrorCallback: isCallbacks,
};

/** What a request takes from elsewhere, and where from. */
const INSTEAD = {systemInstruction: 'instruction', tools: 'tools', abortSignal: "the run's abortSignal"} as const;

/**
 * Checks the options that `BaseAgent` has not checked, and finds the model, where it is named.
 *
 * @throws {@link InvalidOptionError} for an unknown option or a value that cannot be used
 */
export function checkLlmAgentConfig(config: LlmAgentConfig): BaseLlm | undefined {
  const {name, model, tools = [], generateContentConfig = {}} = config;
  checkOptions(name, config, OPTIONS);
  for (const tool of tools) {
    expectOption(tool instanceof BaseTool || tool instanceof BaseToolset, `${name}.tools`, 'tools and toolsets only', tool);
  }
  for (const [option, instead] of Object.entries(INSTEAD)) {
    const value = generateContentConfig[option as keyof typeof INSTEAD];
    expectOption(value === undefined, `${name}.generateContentConfig.${option}`, `left out; use ${instead}`, value);
  }
  return typeof model === 'string' ? LLMRegistry.newLlm(model) : model;
}
