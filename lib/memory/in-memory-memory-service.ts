import type {Event} from '../events/event.ts';
import {copyJson} from '../schema/json-copy.ts';
import {checkOptions, isWholeNumber, optional} from '../schema/options.ts';
import {withoutRewound} from '../sessions/rewound.ts';
import type {Session} from '../sessions/session.ts';
import {BaseMemoryService, type MemoryEntry, type SearchMemoryRequest, type SearchMemoryResponse} from './base-memory-service.ts';
import {checkRemembered, checkSearch} from './check-memory-arguments.ts';
import {countMatches, searchable, type SearchableText} from './words.ts';

/** What `InMemoryMemoryService` is made with. */
export interface InMemoryMemoryServiceOptions {
  /** How many memories a search gives at most; those that share the most words with the query win, then the later ones. Default 50. */
  readonly maxMemories?: number | undefined;
}

interface Memory {
  readonly entry: MemoryEntry;
  readonly searchable: SearchableText;
}

/**
 * Memories in this process, found by their words: for tests and for programs that live as long as what they remember.
 *
 * A memory is found by any word that the query shares with its text, whatever its case, in any language that `Intl.Segmenter` knows, so
 * also those that put no spaces between words. Memories come in the order in which they were said, sessions in the order in which they were
 * first added. Thoughts, calls, responses and runs that were taken back are not searched. Nothing is ever dropped.
 *
 * @example
 * ```ts
 * import {InMemoryMemoryService, InMemorySessionService} from 'sluice';
 *
 * const sessionService = new InMemorySessionService();
 * const memoryService = new InMemoryMemoryService();
 * const session = await sessionService.createSession({appName: 'demo', userId: 'ada'});
 * // ... runs on the session, and then:
 * const whole = await sessionService.getSession({appName: 'demo', userId: 'ada', sessionId: session.id});
 * if (whole) await memoryService.addSessionToMemory(whole);
 * const {memories} = await memoryService.searchMemory({appName: 'demo', userId: 'ada', query: 'favourite colour'});
 * ```
 */
export class InMemoryMemoryService extends BaseMemoryService {
  readonly #maxMemories: number;
  /** By user, then by session. */
  readonly #users = new Map<string, Map<string, readonly Memory[]>>();

  /** @throws {@link InvalidOptionError} for an option that is unknown or cannot be used */
  constructor(options: InMemoryMemoryServiceOptions = {}) {
    super();
    checkOptions('memoryService', options, {maxMemories: optional(isWholeNumber({min: 1}))});
    this.#maxMemories = options.maxMemories ?? 50;
  }

  override async addSessionToMemory(session: Session): Promise<void> {
    checkRemembered(session);
    const user = userOf(session);
    const sessions = this.#users.get(user) ?? new Map<string, readonly Memory[]>();
    sessions.set(
      session.id,
      withoutRewound(session.events).flatMap((event) => memoryOf(event) ?? []),
    );
    this.#users.set(user, sessions);
  }

  override async searchMemory(request: SearchMemoryRequest): Promise<SearchMemoryResponse> {
    checkSearch(request);
    const query = searchable(request.query);
    const memories = [...(this.#users.get(userOf(request))?.values() ?? [])].flat();
    const found = memories.flatMap((memory, at) => {
      const matches = countMatches(query, memory.searchable);
      return matches > 0 ? [{entry: memory.entry, matches, at}] : [];
    });
    const best = found.toSorted((a, b) => b.matches - a.matches || b.at - a.at).slice(0, this.#maxMemories);
    return {memories: best.toSorted((a, b) => a.at - b.at).map(({entry}) => copyJson(entry))};
  }
}

/** What is kept of an Event; nothing where nobody says anything in it. */
function memoryOf({content, author, timestamp, partial}: Event): Memory | undefined {
  const text = (content?.parts ?? []).flatMap((part) => (part.text && !part.thought ? part.text : [])).join(' ');
  if (!content || partial || text.trim() === '') return undefined;
  const entry = {content: copyJson(content), author, timestamp: new Date(timestamp).toISOString()};
  return {entry, searchable: searchable(text)};
}

// A list as JSON, since names may hold any separator.
function userOf({appName, userId}: {readonly appName: string; readonly userId: string}): string {
  return JSON.stringify([appName, userId]);
}
