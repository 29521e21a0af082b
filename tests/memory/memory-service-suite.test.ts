import {AssertionError} from 'node:assert';
import {expect, test} from 'vitest';
import type {Session} from '../../lib/index.ts';
import {
  BaseMemoryService,
  type MemoryEntry,
  type SearchMemoryRequest,
  type SearchMemoryResponse,
} from '../../lib/memory/base-memory-service.ts';
import {checkRemembered, checkSearch} from '../../lib/memory/check-memory-arguments.ts';
import {memoryServiceSuite} from '../../lib/testing/memory-service-suite.ts';

type Fault = 'forgets users' | 'adds twice' | 'makes one path of the names' | 'shares references' | 'copies late' | 'checks nothing';

/** A service as somebody outside would write it: rows, everything found by scanning. With a fault it is one that the suite must catch. */
class RowMemoryService extends BaseMemoryService {
  readonly #fault: Fault | undefined;
  #rows: {user: string; session: string; entry: MemoryEntry}[] = [];

  constructor(fault?: Fault) {
    super();
    this.#fault = fault;
  }

  override async addSessionToMemory(session: Session): Promise<void> {
    if (this.#fault !== 'checks nothing') checkRemembered(session);
    if (this.#fault === 'copies late') await Promise.resolve();
    const user = this.#userOf(session);
    if (this.#fault !== 'adds twice') this.#rows = this.#rows.filter((row) => row.user !== user || row.session !== session.id);
    for (const {content, author, timestamp} of session.events) {
      if (!content?.parts?.some(({text}) => text)) continue;
      const entry = {content, author, timestamp: new Date(timestamp).toISOString()};
      this.#rows.push({user, session: session.id, entry: this.#fault === 'shares references' ? entry : structuredClone(entry)});
    }
  }

  override async searchMemory(request: SearchMemoryRequest): Promise<SearchMemoryResponse> {
    if (this.#fault !== 'checks nothing') checkSearch(request);
    const words = request.query.toLowerCase().split(/\W+/).filter(Boolean);
    const rows = this.#rows.filter(({user, entry}) => {
      const text = JSON.stringify(entry.content.parts).toLowerCase();
      return user === this.#userOf(request) && words.some((word) => text.includes(word));
    });
    const memories = rows.map(({entry}) => entry);
    return {memories: this.#fault === 'shares references' ? memories : structuredClone(memories)};
  }

  #userOf({appName, userId}: {readonly appName: string; readonly userId: string}): string {
    if (this.#fault === 'forgets users') return appName;
    return this.#fault === 'makes one path of the names' ? `${appName}/${userId.split('/')[0]}` : JSON.stringify([appName, userId]);
  }
}

/** The cases that a service fails, and whether each says so by an assertion. */
async function failuresOf(create: () => BaseMemoryService): Promise<string[]> {
  const failed: string[] = [];
  for (const {name, run} of memoryServiceSuite(create)) {
    const error: unknown = await run().then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    if (error !== undefined) failed.push(error instanceof AssertionError ? name : `${name} (${String(error)})`);
  }
  return failed;
}

test('a service that is written by the rules passes', async () => {
  expect(await failuresOf(() => new RowMemoryService())).toEqual([]);
});

test('a create that fails fails every case with its error', async () => {
  const reason = new Error('no database');
  for (const {run} of memoryServiceSuite(() => Promise.reject(reason))) await expect(run()).rejects.toBe(reason);
});

const USERS = "memories are the user's in all sessions, and no other user's or app's";
const REPLACED = 'a session that is added again takes the place of what was remembered of it';
const CHANGED = 'what a caller changes in what it gave or got is not remembered';

test.each<[Fault, string[]]>([
  ['forgets users', [USERS, 'names may hold anything']],
  ['adds twice', [REPLACED]],
  ['makes one path of the names', [USERS]],
  ['shares references', [CHANGED]],
  ['copies late', [CHANGED]],
  ['checks nothing', ['a session or a request that cannot be used is refused']],
])('a service that %s is caught', async (fault, expected) => {
  expect(await failuresOf(() => new RowMemoryService(fault))).toEqual(expected);
});
