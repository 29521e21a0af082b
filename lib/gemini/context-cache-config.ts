import {checkOptions, isWholeNumber, optional, type OptionSpec} from '../schema/options.ts';

/** How a model caches what its requests begin with. */
export interface ContextCacheConfig {
  /** How long a cache lives on the server, in seconds; storage is paid for that long. Default 1,800. */
  readonly ttlSeconds?: number | undefined;
  /** How many tokens a cache has at least; a server refuses small ones. Default 4,096. */
  readonly minTokens?: number | undefined;
  /** How many requests use a cache before a longer one takes its place. Default 10. */
  readonly cacheIntervals?: number | undefined;
}

const OPTIONS: OptionSpec<ContextCacheConfig> = {
  ttlSeconds: optional(isWholeNumber({min: 1})),
  minTokens: optional(isWholeNumber({min: 0})),
  cacheIntervals: optional(isWholeNumber({min: 1})),
};

/** @throws {@link InvalidOptionError} for an option that cannot be used */
export function checkContextCacheConfig(config: ContextCacheConfig): void {
  checkOptions('contextCache', config, OPTIONS);
}
