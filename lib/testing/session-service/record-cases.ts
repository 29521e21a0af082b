import assert from 'node:assert/strict';
import {createEvent} from '../../events/event.ts';
import {idsOf, keyOf, type SessionCase} from './session-case.ts';

/** createSession, getSession, listSessions and deleteSession. */
export const recordCases: readonly SessionCase[] = [
  {
    name: 'createSession makes an id of its own, and two sessions differ',
    async check({service, appName, userId}) {
      const before = Date.now();
      const first = await service.createSession({appName, userId});
      const second = await service.createSession({appName, userId});
      assert.ok(typeof first.id === 'string' && first.id !== '', 'the id should be a non-empty string');
      assert.notEqual(first.id, second.id);
      assert.ok(
        first.lastUpdateTime >= before - 1 && first.lastUpdateTime <= Date.now() + 1,
        'lastUpdateTime should be now, in milliseconds',
      );
      assert.deepEqual({...first, lastUpdateTime: 0}, {id: first.id, appName, userId, state: {}, events: [], lastUpdateTime: 0});
    },
  },
  {
    name: 'createSession takes a given id and state, and getSession finds them',
    async check({service, appName, userId}) {
      const session = await service.createSession({
        appName,
        userId,
        sessionId: 'mine',
        state: {topic: 'sluices', nested: {list: [1, null]}},
      });
      assert.equal(session.id, 'mine');
      assert.deepEqual(session.state, {topic: 'sluices', nested: {list: [1, null]}});
      assert.deepEqual(await service.getSession({appName, userId, sessionId: 'mine'}), session);
    },
  },
  {
    name: 'createSession refuses a taken id and leaves the session as it is',
    async check(world) {
      const session = await world.open({topic: 'sluices'});
      await world.append(session);
      const before = await world.reload(session);
      const again = {...keyOf(session), state: {topic: 'other', 'user:name': 'Eve'}};
      await assert.rejects(world.service.createSession(again), {code: 'SESSION_EXISTS'});
      assert.deepEqual(await world.reload(session), before);
    },
  },
  {
    name: 'one id names different sessions for different users',
    async check({service, appName}) {
      for (const userId of ['ada', 'bob']) await service.createSession({appName, userId, sessionId: 'same', state: {owner: userId}});
      const found = await service.getSession({appName, userId: 'ada', sessionId: 'same'});
      assert.deepEqual(found?.state, {owner: 'ada'});
      // Names must not run into one another when a store makes one key of them.
      await service.createSession({appName, userId: 'a', sessionId: 'b/c', state: {owner: 'a'}});
      assert.equal(await service.getSession({appName, userId: 'a/b', sessionId: 'c'}), undefined);
    },
  },
  {
    name: 'names that are empty or no strings are refused',
    async check({service, appName, userId}) {
      const refused = {code: 'INVALID_OPTION'};
      for (const bad of ['', undefined, null, 7] as string[]) {
        await assert.rejects(service.createSession({appName: bad, userId}), refused);
        await assert.rejects(service.createSession({appName, userId: bad}), refused);
        await assert.rejects(service.getSession({appName, userId, sessionId: bad}), refused);
        await assert.rejects(service.deleteSession({appName, userId: bad, sessionId: 's'}), refused);
        await assert.rejects(service.listSessions({appName: bad}), refused);
      }
      await assert.rejects(service.createSession({appName, userId, sessionId: ''}), refused);
      assert.deepEqual(await service.listSessions({appName}), {sessions: []});
    },
  },
  {
    name: 'getSession gives undefined where there is no session',
    async check({service, appName, userId}) {
      assert.equal(await service.getSession({appName, userId, sessionId: 'none'}), undefined);
    },
  },
  {
    name: 'getSession gives the last numRecentEvents Events, and none for 0',
    async check(world) {
      const session = await world.open();
      for (const id of ['e1', 'e2', 'e3']) await world.append(session, {id, actions: {stateDelta: {last: id}}});
      for (const [numRecentEvents, ids] of [
        [0, []],
        [1, ['e3']],
        [2, ['e2', 'e3']],
        [9, ['e1', 'e2', 'e3']],
      ] as const) {
        const found = await world.reload(session, {numRecentEvents});
        assert.deepEqual(idsOf(found), ids, `numRecentEvents: ${numRecentEvents}`);
        assert.deepEqual(found.state, {last: 'e3'}, 'the state should be whole');
      }
    },
  },
  {
    name: 'getSession gives the Events at afterTimestamp and later, and with both options what both allow',
    async check(world) {
      const session = await world.open();
      for (const timestamp of [1_000, 2_000, 3_000, 4_000]) await world.append(session, {id: `e${timestamp}`, timestamp});
      assert.deepEqual(idsOf(await world.reload(session, {afterTimestamp: 2_000})), ['e2000', 'e3000', 'e4000']);
      assert.deepEqual(idsOf(await world.reload(session, {afterTimestamp: 4_001})), []);
      assert.deepEqual(idsOf(await world.reload(session, {afterTimestamp: 2_000, numRecentEvents: 2})), ['e3000', 'e4000']);
      assert.deepEqual(idsOf(await world.reload(session, {afterTimestamp: 4_000, numRecentEvents: 2})), ['e4000']);
    },
  },
  {
    name: 'getSession refuses options that cannot be used',
    async check(world) {
      const session = await world.open();
      for (const bad of [-1, 1.5, Number.NaN, Infinity, '2', null] as number[]) {
        const request = {...keyOf(session), config: {numRecentEvents: bad}};
        await assert.rejects(world.service.getSession(request), {code: 'INVALID_OPTION'}, `numRecentEvents: ${String(bad)}`);
      }
      for (const bad of [Number.NaN, '2', null, new Date()] as number[]) {
        const request = {...keyOf(session), config: {afterTimestamp: bad}};
        await assert.rejects(world.service.getSession(request), {code: 'INVALID_OPTION'}, `afterTimestamp: ${String(bad)}`);
      }
    },
  },
  {
    name: 'listSessions gives the sessions of one user, or of all, with their state and without Events',
    async check(world) {
      const {service, appName} = world;
      assert.deepEqual(await service.listSessions({appName}), {sessions: []});
      const ada = await world.open({mine: 1, 'app:shared': true});
      const bob = await world.open({mine: 2, 'user:name': 'Bob'}, 'bob');
      const event = createEvent();
      await service.appendEvent({session: ada, event});
      const ofBob = {...bob, state: {mine: 2, 'user:name': 'Bob', 'app:shared': true}};
      const ofAda = {...ada, events: [], state: {mine: 1, 'app:shared': true}, lastUpdateTime: event.timestamp};
      assert.deepEqual(await service.listSessions({appName, userId: 'bob'}), {sessions: [ofBob]});
      const {sessions} = await service.listSessions({appName});
      assert.deepEqual(
        sessions.toSorted((a, b) => (a.userId < b.userId ? -1 : 1)),
        [ofAda, ofBob],
      );
      assert.deepEqual(await service.listSessions({appName, userId: 'nobody'}), {sessions: []});
    },
  },
  {
    name: 'deleteSession removes that session only, once or twice, and leaves shared state',
    async check(world) {
      const session = await world.open({'app:shared': 1, 'user:name': 'Ada', own: true});
      const other = await world.open();
      await world.append(session);
      await world.service.deleteSession(keyOf(session));
      await world.service.deleteSession(keyOf(session));
      assert.equal(await world.service.getSession(keyOf(session)), undefined);
      assert.deepEqual((await world.reload(other)).state, {'app:shared': 1, 'user:name': 'Ada'});
      const {sessions} = await world.service.listSessions({appName: world.appName});
      assert.deepEqual(
        sessions.map(({id}) => id),
        [other.id],
      );
    },
  },
  {
    name: 'a session that takes the id of a deleted one starts empty',
    async check(world) {
      const session = await world.open({own: true});
      await world.append(session, {id: 'e1'});
      await world.service.deleteSession(keyOf(session));
      const next = await world.service.createSession(keyOf(session));
      assert.deepEqual([next.events, next.state], [[], {}]);
      await world.append(next, {id: 'e1'});
      assert.deepEqual(idsOf(await world.reload(next)), ['e1']);
    },
  },
];
