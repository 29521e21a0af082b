/**
 * The plugins that come with Sluice, and what calls the plugins of a runner, whose runs load it by themselves.
 *
 * @module
 */
export {ContextFilterPlugin, type ContextFilterPluginOptions} from './context-filter-plugin.ts';
export {EventCompactionPlugin, type EventCompactionPluginOptions} from './event-compaction-plugin.ts';
export type {EventSummarizer, SummarizerParams} from './event-summarizer.ts';
export {GlobalInstructionPlugin} from './global-instruction-plugin.ts';
export {LoggingPlugin, type LoggingPluginOptions} from './logging-plugin.ts';
export {PluginChain} from './plugin-chain.ts';
export {ReflectAndRetryToolPlugin, type ReflectAndRetryToolPluginOptions} from './reflect-and-retry-tool-plugin.ts';
