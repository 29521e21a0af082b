import type {GenerateContentParameters, GenerateContentResponse} from '@google/genai';

import {createCache, deleteCache, listOf, type CacheStore} from './cache-requests.ts';
import type {ContextCacheConfig} from './context-cache-config.ts';
import {failureOf} from './gemini-errors.ts';
import {prefixesOf, type Prefix} from './prefix-digests.ts';
import type {Chunks} from './reply.ts';

/** A cache on the server, for requests that begin with what it holds. */
interface Entry {
  readonly name: string;
  /** Of what it holds. */
  readonly digest: string;
  /** How many contents it holds, behind the instruction and the tools. */
  readonly length: number;
  /** By `Date.now()`; a little before its end on the server, so that a request that sets out in time arrives in time. */
  readonly expiresAt: number;
  uses: number;
}

interface Call {
  readonly request: GenerateContentParameters;
  readonly prefixes: readonly Prefix[];
  readonly caches: CacheStore;
}

const MAX_REMEMBERED = 10_000;
const PAUSE_MS = 60_000;
/** What a server answers where a cache is gone, or may not be used. Anything else is the failure of the request. */
const REFUSED = new Set([400, 403, 404]);

/**
 * The caches of one model: instruction, tools, and the contents that an earlier request began with as well. They are found by a digest of all
 * of that, so that no conversation is ever sent another's.
 *
 * Whatever fails about a cache, the request is sent without it.
 */
export class ContextCache {
  readonly #ttlSeconds: number;
  readonly #minTokens: number;
  readonly #cacheIntervals: number;
  readonly #entries = new Map<string, Entry>();
  /** About how many tokens the beginnings of earlier requests had, by their digests; the oldest first. */
  readonly #sent = new Map<string, number>();
  /** Digests of the caches that are being made: a request beside this one does not make the same again. */
  readonly #making = new Set<string>();
  /** After a refusal no cache is made for a while, by `Date.now()`. */
  #pausedUntil = 0;

  constructor({ttlSeconds = 1_800, minTokens = 4_096, cacheIntervals = 10}: ContextCacheConfig) {
    this.#ttlSeconds = ttlSeconds;
    this.#minTokens = minTokens;
    this.#cacheIntervals = cacheIntervals;
  }

  /** Sends a request with `ask`, with a cache where there is one for it or one is due. The request's own signal ends all of it. */
  async send(
    request: GenerateContentParameters,
    caches: CacheStore,
    ask: (request: GenerateContentParameters) => Promise<Chunks>,
  ): Promise<Chunks> {
    const {abortSignal, cachedContent} = request.config ?? {};
    // The user has a cache of their own.
    if (cachedContent !== undefined) return ask(request);
    const prefixes = await prefixesOf(request);
    const entry = await this.#entryFor({request, prefixes, caches});
    abortSignal?.throwIfAborted();
    const chunks = (entry && (await this.#askCached(entry, request, ask))) ?? (await ask(request));
    return this.#noting(chunks, prefixes);
  }

  /** Deletes the caches that are left; what cannot be deleted ends with its time. */
  async clear(caches: CacheStore, abortSignal: AbortSignal | undefined): Promise<void> {
    const names = [...this.#entries.values()].map(({name}) => name);
    this.#entries.clear();
    await Promise.all(names.map((name) => deleteCache(caches, name, abortSignal && {abortSignal})));
  }

  async #entryFor(call: Call): Promise<Entry | undefined> {
    const found = this.#find(call.prefixes);
    const entry = found && found.uses < this.#cacheIntervals ? found : ((await this.#replace(call, found)) ?? found);
    if (entry) entry.uses++;
    return entry;
  }

  /** The longest that is still there. */
  #find(prefixes: readonly Prefix[]): Entry | undefined {
    for (const {digest, expiresAt} of this.#entries.values()) if (expiresAt <= Date.now()) this.#entries.delete(digest);
    // The last content is never cached: a request must have one.
    return prefixes
      .slice(0, -1)
      .map(({digest}) => this.#entries.get(digest))
      .findLast((entry) => entry);
  }

  /** A new cache of the longest beginning that was sent before. The old one is deleted, unless other conversations begin with it too. */
  async #replace({request, prefixes, caches}: Call, old: Entry | undefined): Promise<Entry | undefined> {
    const length = prefixes.slice(0, -1).findLastIndex((prefix, at) => this.#isWorthIt(prefix) && canEnd(request, at));
    const digest = prefixes[length]?.digest;
    const isLonger = length > (old?.length ?? -1);
    if (digest === undefined || !isLonger || this.#making.has(digest) || Date.now() < this.#pausedUntil) return undefined;
    this.#making.add(digest);
    try {
      const expiresAt = Date.now() + this.#ttlSeconds * 950;
      const name = await createCache(caches, request, {length, ttlSeconds: this.#ttlSeconds});
      this.#entries.set(digest, {name, digest, length, expiresAt, uses: 0});
    } catch {
      request.config?.abortSignal?.throwIfAborted();
      this.#pausedUntil = Date.now() + PAUSE_MS;
      return undefined;
    } finally {
      this.#making.delete(digest);
    }
    if (old && old.length > 0) {
      this.#entries.delete(old.digest);
      await deleteCache(caches, old.name, request.config);
    }
    return this.#entries.get(digest);
  }

  #isWorthIt({digest}: Prefix): boolean {
    return (this.#sent.get(digest) ?? -1) >= this.#minTokens;
  }

  /** Nothing where the server does not take the cache. */
  async #askCached(
    {name, digest, length}: Entry,
    {contents, config = {}, model}: GenerateContentParameters,
    ask: (request: GenerateContentParameters) => Promise<Chunks>,
  ): Promise<Chunks | undefined> {
    const {systemInstruction: _, tools: __, toolConfig: ___, ...rest} = config;
    try {
      return await ask({model, contents: listOf(contents).slice(length), config: {...rest, cachedContent: name}});
    } catch (error) {
      config.abortSignal?.throwIfAborted();
      if (!REFUSED.has(failureOf(error).status ?? 0)) throw error;
      this.#entries.delete(digest);
      return undefined;
    }
  }

  /** The chunks as they are; what they say of the request's size is remembered. */
  #noting(chunks: Chunks, prefixes: readonly Prefix[]): Chunks {
    const whole = prefixes.at(-1)?.size ?? 0;
    let isNoted = false;
    const note = ({usageMetadata}: GenerateContentResponse): void => {
      const tokens = usageMetadata?.promptTokenCount;
      // Every chunk of a stream says it again.
      if (isNoted || tokens === undefined) return;
      isNoted = true;
      for (const {digest, size} of prefixes) {
        this.#sent.delete(digest);
        this.#sent.set(digest, (tokens * size) / whole);
      }
      for (const oldest of this.#sent.keys()) {
        if (this.#sent.size <= MAX_REMEMBERED) break;
        this.#sent.delete(oldest);
      }
    };
    return {
      next: async () => {
        const result = await chunks.next();
        if (!result.done) note(result.value);
        return result;
      },
    };
  }
}

/** Whether a cache may hold so many contents: a call is not parted from its response, and there must be something to hold. */
function canEnd({contents, config = {}}: GenerateContentParameters, length: number): boolean {
  if (length === 0) return config.systemInstruction !== undefined || config.tools !== undefined;
  return !listOf(contents)[length]?.parts?.some((part) => part.functionResponse);
}
