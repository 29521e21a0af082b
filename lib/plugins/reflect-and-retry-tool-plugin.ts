import {BasePlugin, type PluginToolCall} from '../agents/base-plugin.ts';
import type {Context} from '../context/context.ts';
import {messageOf} from '../errors.ts';
import {getFunctionResponses} from '../events/event.ts';
import {checkOptions, isName, isWholeNumber, optional, type OptionSpec} from '../schema/options.ts';

/** What a `ReflectAndRetryToolPlugin` is made of. */
export interface ReflectAndRetryToolPluginOptions {
  /** Default `'reflect_retry_tool_plugin'`. */
  readonly name?: string | undefined;
  /** How often in a row the model is asked to think again about a tool, within one run of one agent. 0: never. Default 3. */
  readonly maxRetries?: number | undefined;
}

const OPTIONS: OptionSpec<ReflectAndRetryToolPluginOptions> = {name: optional(isName), maxRetries: optional(isWholeNumber({min: 0}))};

/**
 * When a tool fails, tells the model what went wrong and asks it to think before it calls again. After `maxRetries` failures in a row the
 * error stands as it is, `{error: message}`; a success starts anew.
 *
 * It counts in the session and keeps nothing itself: calls that fail side by side are one failure, and a run that goes on in another
 * process goes on counting.
 *
 * @example
 * ```ts
 * import {InMemoryRunner, LlmAgent} from 'sluice';
 * import {ReflectAndRetryToolPlugin} from 'sluice/plugins';
 *
 * const agent = new LlmAgent({name: 'clerk', model: 'gemini-2.5-flash'});
 * const runner = new InMemoryRunner({agent, plugins: [new ReflectAndRetryToolPlugin({maxRetries: 2})]});
 * ```
 */
export class ReflectAndRetryToolPlugin extends BasePlugin {
  /** How often in a row a tool may fail before its error stands. */
  readonly maxRetries: number;

  /** @throws {@link InvalidOptionError} for an option that cannot be used */
  constructor(options: ReflectAndRetryToolPluginOptions = {}) {
    checkOptions('ReflectAndRetryToolPlugin', options, OPTIONS);
    super(options.name ?? 'reflect_retry_tool_plugin');
    this.maxRetries = options.maxRetries ?? 3;
  }

  /** What the model is told instead of the bare error, while it may try again. */
  override onToolErrorCallback({
    tool,
    toolArgs,
    toolContext,
    error,
  }: PluginToolCall & {error: unknown}): Record<string, unknown> | undefined {
    const retry = failuresInARow(tool.name, toolContext) + 1;
    if (retry > this.maxRetries) return undefined;
    const left = this.maxRetries - retry;
    return {error: messageOf(error), retry, reflection: reflection(tool.name, toolArgs, left)};
  }
}

/** In how many of the run's rounds up to now the tool has only failed. */
function failuresInARow(tool: string, {session, invocationId, agentName}: Context): number {
  let failures = 0;
  for (const event of session.events.toReversed()) {
    if (event.invocationId !== invocationId || event.author !== agentName) continue;
    const responses = getFunctionResponses(event).filter(({name}) => name === tool);
    if (responses.length === 0) continue;
    if (responses.some(({response}) => response?.['error'] === undefined)) break;
    failures++;
  }
  return failures;
}

function reflection(tool: string, args: Record<string, unknown>, left: number): string {
  return [
    `The call of \`${tool}\` with ${JSON.stringify(args)} failed. Do not repeat it unchanged. Before the next step, think about:`,
    '1. Arguments: does each have the type, the format and the meaning that the tool asks for? Is one missing?',
    '2. Order: does the tool need something that another call has to bring first?',
    '3. Cause: what does the error say about why it failed, and would another call avoid that?',
    '4. Way: is there another tool, or another way, to the same end?',
    left > 0 ? `Then try again, or go another way.` : `Then try once more, or go another way: a further failure counts.`,
  ].join('\n');
}
