import type {Content} from '../content.ts';
import type {Session} from '../sessions/session.ts';

/** Something that was said in an earlier session. */
export interface MemoryEntry {
  /** As it was said. */
  readonly content: Content;
  /** Who said it: `user`, or an agent's name. */
  readonly author?: string;
  /** When it was said, for example `2026-01-15T10:30:00.000Z`. */
  readonly timestamp?: string;
}

/** What `searchMemory` takes. */
export interface SearchMemoryRequest {
  readonly appName: string;
  readonly userId: string;
  /** What is looked for, in plain words. Where it is empty, nothing is found. */
  readonly query: string;
}

/** What `searchMemory` gives. */
export interface SearchMemoryResponse {
  readonly memories: MemoryEntry[];
}

/**
 * Remembers what users said in earlier sessions, and finds it again.
 *
 * A program adds a session when it sees fit, for example at its end; agents search with the tools `LOAD_MEMORY` and `PRELOAD_MEMORY`. What
 * counts as a match is the service's own: words, meaning, a model's judgement. Memories belong to a user of an app, and nobody else finds
 * them. What a caller changes in a session that it gave, or in memories that it got, changes nothing stored. Both methods refuse what they
 * cannot use with an {@link InvalidOptionError}. `memoryServiceSuite` of `sluice/testing` checks a service against all of this.
 *
 * @example
 * ```ts
 * import {BaseMemoryService, type SearchMemoryRequest, type SearchMemoryResponse, type Session} from 'sluice';
 *
 * class RemoteMemoryService extends BaseMemoryService {
 *   override async addSessionToMemory(session: Session): Promise<void> {
 *     await fetch('https://memory.example/sessions', {method: 'POST', body: JSON.stringify(session)});
 *   }
 *
 *   override async searchMemory(request: SearchMemoryRequest): Promise<SearchMemoryResponse> {
 *     const response = await fetch('https://memory.example/search', {method: 'POST', body: JSON.stringify(request)});
 *     return (await response.json()) as SearchMemoryResponse;
 *   }
 * }
 * ```
 */
export abstract class BaseMemoryService {
  /** Remembers a session as it is when this is called, in place of what was remembered of it before. */
  abstract addSessionToMemory(session: Session): Promise<void>;

  /** What is remembered of the user that matches the query. */
  abstract searchMemory(request: SearchMemoryRequest): Promise<SearchMemoryResponse>;
}
