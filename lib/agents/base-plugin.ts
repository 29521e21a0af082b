import type {Content} from '../content.ts';
import type {Context} from '../context/context.ts';
import {InvalidOptionError, type ModelError} from '../errors.ts';
import type {Event} from '../events/event.ts';
import type {LlmRequest} from '../models/llm-request.ts';
import type {LlmResponse} from '../models/llm-response.ts';
import type {BaseTool} from '../tools/base-tool.ts';
import type {BaseAgent, InvocationContext} from './base-agent.ts';

type Maybe<T> = T | undefined | void | Promise<T | undefined | void>;

/** A call of a tool, as the hooks of a plugin see it. */
export interface PluginToolCall {
  readonly tool: BaseTool;
  readonly toolArgs: Record<string, unknown>;
  readonly toolContext: Context;
}

/**
 * Hooks that a runner calls for all of its agents. Every one of them is optional.
 *
 * Plugins are asked in the order of `plugins`, and before the agent's own callbacks; the first result stops the rest. What a hook throws
 * ends the run with a {@link HookError} that names it and the plugin; while a run closes it is a diagnostic. A stop waits for a hook no
 * longer than `abortGraceMs`. One plugin may serve several runners, and runs at the same time.
 *
 * @example
 * ```ts
 * import {BasePlugin, InMemoryRunner, LlmAgent, type Event} from 'sluice';
 *
 * class Counter extends BasePlugin {
 *   calls = 0;
 *   override beforeModelCallback(): void {
 *     this.calls++;
 *   }
 * }
 * const counter = new Counter('counter');
 * const agent = new LlmAgent({name: 'clerk', model: 'gemini-2.5-flash'});
 * const runner = new InMemoryRunner({agent, plugins: [counter]});
 * ```
 */
export abstract class BasePlugin {
  readonly name: string;

  /** @throws {@link InvalidOptionError} for a name that is empty or no string */
  constructor(name: string) {
    if (typeof name !== 'string' || name === '') throw new InvalidOptionError('plugin.name', 'a non-empty string', name);
    this.name = name;
  }

  /**
   * Before the message of a run is stored; content from it takes the message's place. It may change the message in place. Answers to calls
   * that wait must stay in it. Not called in a live run, whose user speaks in Events.
   */
  onUserMessageCallback?(params: {invocationContext: InvocationContext; userMessage: Content}): Maybe<Content>;
  /** Before the agent runs; content from it is stored and yielded instead. */
  beforeRunCallback?(params: {invocationContext: InvocationContext}): Maybe<Content>;
  /**
   * For each whole Event but the user's message, before it is stored, those of a run that closes too; an Event from it takes its place. It may
   * change the Event in place. Id, function calls and function responses must stay, and whose they are; what they say may change.
   *
   * Where it throws or does not let go while a run closes, the responses are stored without what they say.
   */
  onEventCallback?(params: {invocationContext: InvocationContext; event: Event}): Maybe<Event>;
  /** Once at the end of every run that got its session, however it ended; after a stop with a signal that fires when the time is up. */
  afterRunCallback?(params: {invocationContext: InvocationContext}): void | Promise<void>;
  /** Told, while the run closes, what it failed with, be it an agent, a model, a hook or a store; never for a stop. */
  onRunErrorCallback?(params: {invocationContext: InvocationContext; error: unknown}): void | Promise<void>;

  /** Before an agent runs; content from it is yielded instead. */
  beforeAgentCallback?(params: {agent: BaseAgent; callbackContext: Context}): Maybe<Content>;
  /** When an agent has run; content from it is yielded in addition. */
  afterAgentCallback?(params: {agent: BaseAgent; callbackContext: Context}): Maybe<Content>;
  /** Told what an agent fails with; never for a stop. What it writes to the state is stored. */
  onAgentErrorCallback?(params: {agent: BaseAgent; callbackContext: Context; error: unknown}): void | Promise<void>;

  /** Before a request; a response from it stands in for the model's. It may change the request in place. */
  beforeModelCallback?(params: {callbackContext: Context; llmRequest: LlmRequest}): Maybe<LlmResponse>;
  /** For every response, partial ones too; a response from it replaces the one it was given. */
  afterModelCallback?(params: {callbackContext: Context; llmResponse: LlmResponse}): Maybe<LlmResponse>;
  /** When the model failed for good, never for a stop; a response from it stands in for the reply. */
  onModelErrorCallback?(params: {callbackContext: Context; llmRequest: LlmRequest; error: ModelError}): Maybe<LlmResponse>;

  /** Before the body of a tool; a response from it stands in for the tool's. It may change the arguments in place. */
  beforeToolCallback?(params: PluginToolCall): Maybe<Record<string, unknown>>;
  /** For the response of a tool; a response from it replaces that. */
  afterToolCallback?(params: PluginToolCall & {result: Record<string, unknown>}): Maybe<Record<string, unknown>>;
  /** When a tool threw, timed out or refused its arguments, never for a stop; a response from it stands in for the error. */
  onToolErrorCallback?(params: PluginToolCall & {error: unknown}): Maybe<Record<string, unknown>>;

  /** When the runner is closed, within `closeTimeoutMs`. */
  close?(): void | Promise<void>;
}
