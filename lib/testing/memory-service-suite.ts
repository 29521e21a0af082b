import assert from 'node:assert/strict';
import {createEvent, type CreateEventParams, type Event} from '../events/event.ts';
import type {BaseMemoryService, MemoryEntry} from '../memory/base-memory-service.ts';
import type {Session} from '../sessions/session.ts';
import {vandalise} from './session-service/session-case.ts';

/** One case of {@link memoryServiceSuite}. */
export interface MemoryServiceCase {
  /** What the service must do, as a sentence. */
  readonly name: string;
  /** Resolves where it does; rejects with an `AssertionError`, or with what the service threw. */
  readonly run: () => Promise<void>;
}

/**
 * What agents, and the programs around them, rely on in a memory service: a case per promise of {@link BaseMemoryService}. Works with any
 * test runner. What it looks for is said in the same words in the session, so that services that find by words or by meaning both pass;
 * that a service finds nothing else is not asked of it. The cases do not depend on one another; each names an app of its own.
 *
 * @param create - gives the service to test, once per case; the same one again is fine. What it opens is the caller's to close.
 *
 * @example
 * ```ts
 * import {test} from 'node:test';
 * import {InMemoryMemoryService} from 'sluice';
 * import {memoryServiceSuite} from 'sluice/testing';
 *
 * for (const {name, run} of memoryServiceSuite(() => new InMemoryMemoryService())) void test(name, run);
 * ```
 */
export function memoryServiceSuite(create: () => BaseMemoryService | Promise<BaseMemoryService>): MemoryServiceCase[] {
  return cases.map(({name, check}) => ({name, run: async () => check(new MemoryWorld(await create()))}));
}

interface MemoryCase {
  readonly name: string;
  readonly check: (world: MemoryWorld) => Promise<void>;
}

/** A service, an app that no other case uses, and what most cases do with them. */
class MemoryWorld {
  readonly service: BaseMemoryService;
  readonly scope: {readonly appName: string; readonly userId: string} = {appName: `app-${crypto.randomUUID()}`, userId: 'ada'};

  constructor(service: BaseMemoryService) {
    this.service = service;
  }

  session(events: readonly Event[], other: Partial<Session> = {}): Session {
    return {id: 'first', ...this.scope, state: {}, events: [...events], lastUpdateTime: 0, ...other};
  }

  async search(query: string, other: Partial<MemoryWorld['scope']> = {}): Promise<MemoryEntry[]> {
    return (await this.service.searchMemory({...this.scope, ...other, query})).memories;
  }

  async found(query: string, other: Partial<MemoryWorld['scope']> = {}): Promise<string[]> {
    return (await this.search(query, other)).map(({content}) => (content.parts ?? []).map(({text = ''}) => text).join(' '));
  }
}

function said(text: string, params: CreateEventParams = {}): Event {
  return createEvent({author: 'user', content: {role: 'user', parts: [{text}]}, timestamp: Date.UTC(2026, 0, 15), ...params});
}

const LIKES = 'My favourite colour is turquoise';

const cases: readonly MemoryCase[] = [
  {
    name: 'what was said is found, as it was said, with who said it and when',
    async check(world) {
      const reply = said('Turquoise is a lovely colour', {author: 'painter', content: {role: 'model', parts: [{text: LIKES}]}});
      await world.service.addSessionToMemory(world.session([said(LIKES), reply]));
      const memories = await world.search('turquoise colour');
      const ofUser = memories.find(({author}) => author === 'user');
      assert.deepEqual(ofUser?.content, {role: 'user', parts: [{text: LIKES}]});
      assert.equal(new Date(ofUser.timestamp ?? '').getTime(), Date.UTC(2026, 0, 15));
      assert.ok(
        memories.some(({author}) => author === 'painter'),
        'what an agent said is remembered too',
      );
    },
  },
  {
    name: "memories are the user's in all sessions, and no other user's or app's",
    async check(world) {
      const {appName} = world.scope;
      await world.service.addSessionToMemory(world.session([said(LIKES)]));
      await world.service.addSessionToMemory(world.session([said(`${LIKES} still`)], {id: 'second'}));
      assert.deepEqual((await world.found('turquoise')).toSorted(), [LIKES, `${LIKES} still`]);
      const others = [{userId: 'bob'}, {appName: `${appName}-2`}, {appName: `${appName}/ada`, userId: 'ada'}, {userId: 'ada/first'}];
      for (const other of others) assert.deepEqual(await world.found('turquoise', other), []);
    },
  },
  {
    name: 'a session that is added again takes the place of what was remembered of it',
    async check(world) {
      await world.service.addSessionToMemory(world.session([said(LIKES)]));
      await world.service.addSessionToMemory(world.session([said(LIKES), said('Turquoise it stays')]));
      assert.deepEqual((await world.found('turquoise')).toSorted(), [LIKES, 'Turquoise it stays']);
      await world.service.addSessionToMemory(world.session([said('Turquoise no more')]));
      assert.deepEqual(await world.found('turquoise'), ['Turquoise no more']);
    },
  },
  {
    name: 'names may hold anything',
    async check(world) {
      for (const name of ['__proto__', 'constructor', 'a/b', '..', '名前', 'x'.repeat(300)]) {
        const scope = {...world.scope, userId: name};
        await world.service.addSessionToMemory(world.session([said(`${LIKES} of ${name}`)], {...scope, id: name}));
        assert.deepEqual(await world.found('turquoise', scope), [`${LIKES} of ${name}`]);
      }
    },
  },
  {
    name: 'where nothing was said there is nothing to find, whatever is looked for',
    async check(world) {
      assert.deepEqual(await world.found('turquoise'), []);
      const call = createEvent({author: 'painter', content: {role: 'model', parts: [{functionCall: {name: 'turquoise'}}]}});
      await world.service.addSessionToMemory(world.session([createEvent({author: 'painter'}), call, said('')]));
      for (const query of ['turquoise', '', ' ', '.*', '\0']) assert.deepEqual(await world.found(query), [], JSON.stringify(query));
    },
  },
  {
    name: 'what a caller changes in what it gave or got is not remembered',
    async check(world) {
      const session = structuredClone(world.session([said(LIKES)]));
      const adding = world.service.addSessionToMemory(session);
      vandalise(session);
      await adding;
      vandalise(await world.service.searchMemory({...world.scope, query: 'turquoise'}));
      assert.deepEqual(await world.found('turquoise'), [LIKES]);
    },
  },
  {
    name: 'a session or a request that cannot be used is refused',
    async check(world) {
      const refused = {code: 'INVALID_OPTION'};
      const good = world.session([said(LIKES)]);
      const sessions: unknown[] = [undefined, null, 'first', {}, ...['id', 'appName', 'userId'].map((key) => ({...good, [key]: ''}))];
      for (const bad of [...sessions, {...good, events: undefined}]) {
        await assert.rejects(world.service.addSessionToMemory(bad as Session), refused, JSON.stringify(bad));
      }
      for (const bad of [{appName: ''}, {userId: ''}, {query: undefined}, {query: 7}]) {
        const request = {...world.scope, query: 'turquoise', ...bad};
        await assert.rejects(world.service.searchMemory(request as never), refused, JSON.stringify(bad));
      }
      assert.deepEqual(await world.found('turquoise'), []);
    },
  },
];
