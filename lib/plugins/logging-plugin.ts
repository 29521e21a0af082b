import type {BaseAgent, InvocationContext} from '../agents/base-agent.ts';
import {BasePlugin, type PluginToolCall} from '../agents/base-plugin.ts';
import type {Content} from '../content.ts';
import type {Context} from '../context/context.ts';
import {messageOf, type ModelError} from '../errors.ts';
import {getFunctionCalls, type Event} from '../events/event.ts';
import type {LlmRequest} from '../models/llm-request.ts';
import type {LlmResponse} from '../models/llm-response.ts';
import {checkOptions, isFunction, optional} from '../schema/options.ts';
import {REQUEST_CREDENTIAL} from '../context/requests.ts';
import {brief, contentText, instructionText} from './log-text.ts';

/** How a `LoggingPlugin` logs. */
export interface LoggingPluginOptions {
  /** Takes each line. Default `console.log`. */
  readonly log?: ((line: string) => void) | undefined;
}

type AgentCall = {agent: BaseAgent; callbackContext: Context};

/**
 * Logs what happens in a run, a line for each hook. Texts, arguments and responses are cut at 200 characters; of media and files only the
 * type and the size are shown. Changes nothing.
 *
 * Of credentials nothing is shown: neither what a tool asks for and what it is answered, nor what stands, also in JSON that is a text, under a
 * name of one, such as `authConfig`, `access_token`, `clientSecret`, `apiKey`, `password` or `Authorization`. A credential in the middle of
 * plain words is not known as one.
 *
 * @example
 * ```ts
 * import {InMemoryRunner, LlmAgent} from 'sluice';
 * import {LoggingPlugin} from 'sluice/plugins';
 *
 * const agent = new LlmAgent({name: 'clerk', model: 'gemini-2.5-flash'});
 * const runner = new InMemoryRunner({agent, plugins: [new LoggingPlugin()]});
 * ```
 */
export class LoggingPlugin extends BasePlugin {
  readonly #log: (line: string) => void;

  /**
   * @param name - stands in front of each line. Default `'logging_plugin'`
   * @throws {@link InvalidOptionError} for an option that cannot be used
   */
  constructor(name: string = 'logging_plugin', options: LoggingPluginOptions = {}) {
    checkOptions('LoggingPlugin', options, {log: optional(isFunction)});
    super(name);
    // oxlint-disable-next-line no-console -- the default of log
    const {log = (line: string) => console.log(line)} = options;
    this.#log = (line) => log(`[${name}] ${line}`);
  }

  override onUserMessageCallback({invocationContext: it, userMessage}: {invocationContext: InvocationContext; userMessage: Content}): void {
    this.#log(`user ${it.userId} in ${it.session.id}: ${contentText(userMessage, credentialsIn(it))}`);
  }

  override beforeRunCallback({invocationContext: it}: {invocationContext: InvocationContext}): void {
    this.#log(`run ${it.invocationId} starts with ${it.agentName}`);
  }

  override onEventCallback({invocationContext: it, event}: {invocationContext: InvocationContext; event: Event}): void {
    const {id, author, content, errorCode, longRunningToolIds: waiting = []} = event;
    const marks = [errorCode === undefined ? '' : ` (${errorCode})`, waiting.length > 0 ? ` (waits for ${waiting.join(', ')})` : ''];
    this.#log(`event ${id} of ${author}: ${contentText(content, author === 'user' ? credentialsIn(it) : undefined)}${marks.join('')}`);
  }

  override afterRunCallback({invocationContext: it}: {invocationContext: InvocationContext}): void {
    this.#log(`run ${it.invocationId} is over`);
  }

  override onRunErrorCallback({invocationContext: it, error}: {invocationContext: InvocationContext; error: unknown}): void {
    this.#log(`run ${it.invocationId} fails: ${brief(messageOf(error))}`);
  }

  override beforeAgentCallback({agent}: AgentCall): void {
    this.#log(`agent ${agent.name} starts`);
  }

  override afterAgentCallback({agent}: AgentCall): void {
    this.#log(`agent ${agent.name} is over`);
  }

  override onAgentErrorCallback({agent, error}: AgentCall & {error: unknown}): void {
    this.#log(`agent ${agent.name} fails: ${brief(messageOf(error))}`);
  }

  override beforeModelCallback({callbackContext, llmRequest}: {callbackContext: Context; llmRequest: LlmRequest}): void {
    const {model = '', contents, config} = llmRequest;
    const instruction = instructionText(config.systemInstruction);
    this.#log(
      `agent ${callbackContext.agentName} asks ${model}, ${contents.length} contents${instruction ? `, told: ${instruction}` : ''}`,
    );
  }

  override afterModelCallback({callbackContext, llmResponse}: {callbackContext: Context; llmResponse: LlmResponse}): void {
    const {content, partial, errorCode, usageMetadata: {totalTokenCount} = {}} = llmResponse;
    const marks = [errorCode === undefined ? '' : ` (${errorCode})`, totalTokenCount === undefined ? '' : ` (${totalTokenCount} tokens)`];
    const kind = partial ? 'a piece' : 'a reply';
    this.#log(`agent ${callbackContext.agentName} gets ${kind}: ${contentText(content)}${marks.join('')}`);
  }

  override onModelErrorCallback({callbackContext, error}: {callbackContext: Context; llmRequest: LlmRequest; error: ModelError}): void {
    this.#log(`model of ${callbackContext.agentName} fails: ${error.code}: ${brief(error.message)}`);
  }

  override beforeToolCallback({tool, toolArgs, toolContext}: PluginToolCall): void {
    this.#log(`tool ${tool.name} ${toolContext.functionCallId ?? ''} starts: ${brief(toolArgs)}`);
  }

  override afterToolCallback({tool, toolContext, result}: PluginToolCall & {result: Record<string, unknown>}): void {
    this.#log(`tool ${tool.name} ${toolContext.functionCallId ?? ''} gives: ${brief(result)}`);
  }

  override onToolErrorCallback({tool, toolContext, error}: PluginToolCall & {error: unknown}): void {
    this.#log(`tool ${tool.name} ${toolContext.functionCallId ?? ''} fails: ${brief(messageOf(error))}`);
  }

  override close(): void {
    this.#log('the runner closes');
  }
}

/** Whether the call of an id has asked for a credential, in this session. */
function credentialsIn({run}: InvocationContext): (id: string) => boolean {
  return (id) =>
    run.session.events.some((event) => getFunctionCalls(event).some((call) => call.id === id && call.name === REQUEST_CREDENTIAL));
}
