import {BasePlugin} from '../agents/base-plugin.ts';
import {FILLER} from '../agents/llm/history-layout.ts';
import {runScopeOf} from '../agents/run-scope.ts';
import type {Context} from '../context/context.ts';
import {expectOption, messageOf} from '../errors.ts';
import {BaseLlm} from '../models/base-llm.ts';
import type {LlmRequest} from '../models/llm-request.ts';
import {checkOptions, isFunction, isName, isWholeNumber, optional, type OptionSpec} from '../schema/options.ts';
import {CompactedHistory, safeCut, summaryContent, type Compaction} from './compacted-history.ts';
import {summarizeWith, type EventSummarizer} from './event-summarizer.ts';

/** What an `EventCompactionPlugin` is made of: a summarizer, and at least one of `tokenThreshold` and `compactionInterval`. */
export interface EventCompactionPluginOptions {
  /** A model that sums up, or a function. Its model calls are not counted in `maxLlmCalls` and the run's usage. */
  readonly summarizer: BaseLlm | EventSummarizer;
  /** How many tokens a request may have: when the agent's last one had as many, what stands before the latest Events becomes one summary. */
  readonly tokenThreshold?: number | undefined;
  /** How many of the latest Events stay as they are when `tokenThreshold` is reached. Default 10. */
  readonly eventRetentionSize?: number | undefined;
  /** How many runs, the one under way not counted, become one more summary behind those that are there. */
  readonly compactionInterval?: number | undefined;
  /** How many of the runs before them a summary of `compactionInterval` runs looks at again. Default 0. */
  readonly overlapSize?: number | undefined;
  /** Told what the summarizer fails with, and whose history stays as it is. Default: a line of `console.warn`. */
  readonly onFailure?: ((failure: {readonly agentName: string; readonly error: unknown}) => void) | undefined;
  /** Default `'event_compaction_plugin'`. */
  readonly name?: string | undefined;
}

const OPTIONS: OptionSpec<EventCompactionPluginOptions> = {
  summarizer: {expected: 'a BaseLlm or a function', accepts: (value) => value instanceof BaseLlm || typeof value === 'function'},
  tokenThreshold: optional(isWholeNumber({min: 1})),
  eventRetentionSize: optional(isWholeNumber({min: 0})),
  compactionInterval: optional(isWholeNumber({min: 1})),
  overlapSize: optional(isWholeNumber({min: 0})),
  onFailure: optional(isFunction),
  name: optional(isName),
};

/** What is to be summed up next. */
interface Work {
  /** The Events to look at, and how many are covered afterwards. */
  readonly from: number;
  readonly to: number;
  /** Whether the summaries that are there become part of the new one. */
  readonly folds: boolean;
}

/**
 * Keeps what a model is sent short over long sessions: summaries stand in for what was said first. The session keeps every Event.
 *
 * Before a request of an agent it looks whether there is something to sum up, and keeps the summary in the session's state, under
 * `<name>/<agent>`, so that a later run in another process goes on with it. A summary never parts a call from its response; a call that
 * waits, and what led to it, stays, and so does the user's message that the run is about. Where the summarizer fails, the request goes
 * out with what was there, `onFailure` is told, and the next run tries again. A stop of the run stops the summarizer.
 *
 * It stands ahead of plugins that cut or change contents: contents that do not begin as the session does it leaves alone.
 *
 * @example
 * ```ts
 * import {InMemoryRunner, LlmAgent} from 'sluice';
 * import {Gemini} from 'sluice/gemini';
 * import {EventCompactionPlugin} from 'sluice/plugins';
 *
 * const summarizer = new Gemini({model: 'gemini-2.5-flash-lite'});
 * const agent = new LlmAgent({name: 'clerk', model: 'gemini-2.5-flash'});
 * const runner = new InMemoryRunner({agent, plugins: [new EventCompactionPlugin({summarizer, tokenThreshold: 50_000})]});
 * ```
 */
export class EventCompactionPlugin extends BasePlugin {
  readonly #options: EventCompactionPluginOptions;
  readonly #summarize: EventSummarizer;
  /** By run, the agents for which the summarizer has failed or declined. */
  readonly #skipped = new WeakMap<object, Set<string>>();

  /** @throws {@link InvalidOptionError} for an option that cannot be used or has no effect, and where nothing says when to sum up */
  constructor(options: EventCompactionPluginOptions) {
    checkOptions('EventCompactionPlugin', options, OPTIONS);
    const {name = 'event_compaction_plugin', summarizer, tokenThreshold, eventRetentionSize, compactionInterval, overlapSize} = options;
    const hasTrigger = tokenThreshold !== undefined || compactionInterval !== undefined;
    expectOption(hasTrigger, 'EventCompactionPlugin', 'given tokenThreshold, compactionInterval, or both', options);
    const [size, overlap] = ['EventCompactionPlugin.eventRetentionSize', 'EventCompactionPlugin.overlapSize'];
    expectOption(
      eventRetentionSize === undefined || tokenThreshold !== undefined,
      size,
      'left out without tokenThreshold',
      eventRetentionSize,
    );
    expectOption(
      overlapSize === undefined || compactionInterval !== undefined,
      overlap,
      'left out without compactionInterval',
      overlapSize,
    );
    super(name);
    this.#options = options;
    this.#summarize = summarizer instanceof BaseLlm ? summarizeWith(summarizer) : summarizer;
  }

  override async beforeModelCallback({
    callbackContext: context,
    llmRequest,
  }: {
    callbackContext: Context;
    llmRequest: LlmRequest;
  }): Promise<void> {
    const key = this.#keyOf(context);
    const kept = new CompactedHistory(context, context.state.get(key));
    const work = this.#workOn(kept);
    const compaction = work && (await this.#sumUp(kept, work, context));
    if (compaction) context.state.set(key, compaction);
    const history = compaction ? new CompactedHistory(context, compaction) : kept;
    llmRequest.contents = history.compact(llmRequest.contents);
  }

  /** Agents in branches see other Events than those outside. */
  #keyOf({agentName, source: {branch}}: Context): string {
    return [this.name, ...(branch === undefined ? [] : [branch]), agentName].join('/');
  }

  #workOn(history: CompactedHistory): Work | undefined {
    const {tokenThreshold = Infinity, eventRetentionSize = 10, compactionInterval = Infinity, overlapSize = 0} = this.#options;
    const {events, covered, lastPromptTokens, startOfRun} = history;
    if (lastPromptTokens >= tokenThreshold) {
      const to = safeCut(events, Math.max(covered, events.length - eventRetentionSize));
      if (to > covered) return {from: covered, to, folds: true};
    }
    if (history.startsOfRuns(covered, startOfRun).length < compactionInterval) return undefined;
    const to = safeCut(events, startOfRun);
    const from = overlapSize > 0 ? (history.startsOfRuns(0, covered).slice(-overlapSize)[0] ?? covered) : covered;
    return to > covered ? {from, to, folds: false} : undefined;
  }

  /** Nothing where there is nothing to sum up, and where the summarizer fails or declines: once in a run. */
  async #sumUp(history: CompactedHistory, {from, to, folds}: Work, context: Context): Promise<Compaction | undefined> {
    const run = runScopeOf(context);
    const skipped = this.#skipped.get(run) ?? new Set();
    const key = this.#keyOf(context);
    const said = history.contents(from, to).filter((content) => content !== FILLER);
    const lastEventId = history.events[to - 1]?.id;
    if (skipped.has(key) || said.length === 0 || lastEventId === undefined) return undefined;
    const {summaries} = history;
    const contents = folds && summaries.length > 0 ? [summaryContent(summaries), ...said] : said;
    try {
      const summary: unknown = await this.#summarize({contents, context});
      expectOption(summary === undefined || typeof summary === 'string', 'summarizer', 'a function that gives a string', summary);
      if (summary) return {lastEventId, summaries: folds ? [summary] : [...summaries, summary]};
    } catch (error) {
      context.life.throwIfEnded();
      this.#tell(context.agentName, error);
    }
    this.#skipped.set(run, skipped.add(key));
    return undefined;
  }

  #tell(agentName: string, error: unknown): void {
    const {onFailure} = this.#options;
    if (onFailure) onFailure({agentName, error});
    // oxlint-disable-next-line no-console -- the default of onFailure
    else console.warn(`[${this.name}] The history of ${agentName} was not summed up: ${messageOf(error)}`);
  }
}
