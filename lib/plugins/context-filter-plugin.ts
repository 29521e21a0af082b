import {BasePlugin} from '../agents/base-plugin.ts';
import type {Content, Part} from '../content.ts';
import type {Context} from '../context/context.ts';
import {expectOption} from '../errors.ts';
import {servedParts} from '../events/served-parts.ts';
import type {LlmRequest} from '../models/llm-request.ts';
import {checkOptions, isFunction, isName, isWholeNumber, optional, type OptionSpec} from '../schema/options.ts';

/** What a `ContextFilterPlugin` is made of: at least one of the two ways to filter. */
export interface ContextFilterPluginOptions {
  /** How many of the latest invocations the model sees, the one under way included; at least 1. Default: all. */
  readonly numInvocationsToKeep?: number | undefined;
  /** What the model sees, out of what would be sent and is left of it by `numInvocationsToKeep`. Default: all. */
  readonly customFilter?: ((contents: Content[]) => Content[] | Promise<Content[]>) | undefined;
  /** Default `'context_filter_plugin'`. */
  readonly name?: string | undefined;
}

const OPTIONS: OptionSpec<ContextFilterPluginOptions> = {
  numInvocationsToKeep: optional(isWholeNumber({min: 1})),
  customFilter: optional(isFunction),
  name: optional(isName),
};

/**
 * Keeps what a model is sent short. The session keeps everything.
 *
 * An invocation begins with what the user says and ends before what the user says next. Whatever a filter cuts, a function call stays with
 * its response: where only one of the two is left, it goes too. What is sent begins with words of the user.
 *
 * @example
 * ```ts
 * import {InMemoryRunner, LlmAgent} from 'sluice';
 * import {ContextFilterPlugin} from 'sluice/plugins';
 *
 * const agent = new LlmAgent({name: 'clerk', model: 'gemini-2.5-flash'});
 * const runner = new InMemoryRunner({agent, plugins: [new ContextFilterPlugin({numInvocationsToKeep: 5})]});
 * ```
 */
export class ContextFilterPlugin extends BasePlugin {
  readonly #options: ContextFilterPluginOptions;

  /** @throws {@link InvalidOptionError} for an option that cannot be used, and where there is nothing to filter by */
  constructor(options: ContextFilterPluginOptions) {
    checkOptions('ContextFilterPlugin', options, OPTIONS);
    const {name = 'context_filter_plugin', numInvocationsToKeep, customFilter} = options;
    const filters = numInvocationsToKeep !== undefined || customFilter !== undefined;
    expectOption(filters, 'ContextFilterPlugin', 'given numInvocationsToKeep, customFilter, or both', options);
    super(name);
    this.#options = options;
  }

  /** What `customFilter` throws is this hook's error. */
  override async beforeModelCallback({callbackContext, llmRequest}: {callbackContext: Context; llmRequest: LlmRequest}): Promise<void> {
    const {numInvocationsToKeep = Infinity, customFilter} = this.#options;
    let contents = latest(llmRequest.contents, numInvocationsToKeep, callbackContext.userContent);
    if (customFilter) {
      // A filter may empty the list that it is given.
      const filtered: unknown = await customFilter([...contents]);
      expectOption(Array.isArray(filtered), 'customFilter', 'a function that gives an array of contents', filtered);
      contents = paired(fromUser(filtered as Content[], contents));
    }
    llmRequest.contents = contents;
  }
}

/**
 * The contents from the start of the invocation on that is the `count`-th from the end. What stands behind the message of the run belongs to
 * the invocation under way, whoever it seems to come from: a tool may have added files, and a model that spoke last is asked to go on.
 */
function latest(contents: Content[], count: number, message: Content | undefined): Content[] {
  const said = new Set(message?.parts?.map(signOf));
  const current = contents.findLastIndex(({role, parts}) => role === 'user' && parts?.some((part) => said.has(signOf(part))));
  let left = count;
  for (let at = current >= 0 ? current : contents.length - 1; at >= 0; at--) {
    // What the user says in several contents in a row begins one invocation.
    if (isSaid(contents[at]) && !isSaid(contents[at - 1]) && --left === 0) return contents.slice(at);
  }
  return contents;
}

/** What a part of the user's message is known by in a request: an answer by its call, since a response may have got a name there. */
function signOf(part: Part): string {
  return part.functionResponse?.id ?? JSON.stringify(part);
}

/** How a request tells what another agent said and did. */
const TOLD = /^\[[^\]]+\] (said:|called tool|got from|ran code)/;

/** Whether the user speaks, and not a tool or, through the user, another agent. */
function isSaid(content: Content | undefined): boolean {
  if (content?.role !== 'user') return false;
  return !content.parts?.some(({functionResponse, text}) => functionResponse || TOLD.test(text ?? ''));
}

/** The contents from the first words of the user on, since no model begins; with the latest ones in front where a filter has left none. */
function fromUser(contents: Content[], before: readonly Content[]): Content[] {
  const start = contents.findIndex(isSaid);
  if (start >= 0) return contents.slice(start);
  const said = before.findLast(isSaid);
  return said ? [said, ...contents] : contents;
}

/** The contents without calls that have lost their response, and the other way round. */
function paired(contents: readonly Content[]): Content[] {
  const served = new Set(contents.flatMap(({parts = []}) => [...servedParts(parts)]));
  const idsOf = (kind: 'functionCall' | 'functionResponse'): Set<string | undefined> =>
    new Set(contents.flatMap(({parts = []}) => parts.flatMap((part) => (part[kind] ? [part[kind].id] : []))));
  const [calls, responses] = [idsOf('functionCall'), idsOf('functionResponse')];
  const isWhole = (part: Part): boolean => {
    const id = (part.functionCall ?? part.functionResponse)?.id;
    if (part.functionCall || part.functionResponse) return served.has(part) || (calls.has(id) && responses.has(id));
    return true;
  };
  return contents.flatMap((content) => {
    const {parts = []} = content;
    const kept = parts.filter(isWhole);
    if (kept.length === parts.length) return [content];
    return kept.length > 0 ? [{...content, parts: kept}] : [];
  });
}
