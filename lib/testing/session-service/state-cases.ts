import assert from 'node:assert/strict';
import {State} from '../../sessions/state.ts';
import {keyOf, type SessionCase} from './session-case.ts';

/** Scopes, removal and odd keys. */
export const stateCases: readonly SessionCase[] = [
  {
    name: 'initial state goes to its scopes, and temp: keys nowhere',
    async check(world) {
      const session = await world.open({own: 1, 'user:name': 'Ada', 'app:shared': 2, 'temp:scratch': 3});
      const whole = {own: 1, 'user:name': 'Ada', 'app:shared': 2};
      assert.deepEqual(session.state, whole);
      assert.deepEqual((await world.reload(session)).state, whole);
      assert.deepEqual((await world.open()).state, {'user:name': 'Ada', 'app:shared': 2});
      assert.deepEqual((await world.open({}, 'bob')).state, {'app:shared': 2});
    },
  },
  {
    name: "getInitialState gives the session's own keys as they were at first, where the store has it",
    async check(world) {
      const session = await world.open({own: {deep: 1}, other: 2, 'user:name': 'Ada', 'app:shared': 3, 'temp:scratch': 4});
      const bare = await world.open();
      await world.append(session, {actions: {stateDelta: {own: {deep: 2}, other: State.REMOVED, late: 5}}});
      if (!world.service.getInitialState) return;
      assert.deepEqual(await world.service.getInitialState(keyOf(session)), {own: {deep: 1}, other: 2});
      assert.deepEqual(await world.service.getInitialState(keyOf(bare)), {});
      await assert.rejects(world.service.getInitialState({...keyOf(session), sessionId: 'none'}), {code: 'SESSION_NOT_FOUND'});
      await assert.rejects(world.service.getInitialState({...keyOf(session), sessionId: ''}), {code: 'INVALID_OPTION'});
    },
  },
  {
    name: 'initial state that is no record, or that JSON cannot hold, is refused and no session made',
    async check({service, appName, userId}) {
      for (const state of ['text', [1], null, {bad: 10n}, {bad: () => 1}] as Record<string, unknown>[]) {
        await assert.rejects(service.createSession({appName, userId, state}), {code: 'INVALID_OPTION'});
      }
      assert.deepEqual(await service.listSessions({appName}), {sessions: []});
    },
  },
  {
    name: 'app: and user: keys are seen by the sessions that share them',
    async check(world) {
      const session = await world.open();
      const sameUser = await world.open();
      const otherUser = await world.open({}, 'bob');
      const delta = {own: 'o', 'user:theme': {dark: true}, 'app:version': [1, 2]};
      await world.append(session, {actions: {stateDelta: delta}});
      assert.deepEqual((await world.reload(session)).state, delta);
      assert.deepEqual((await world.reload(sameUser)).state, {'user:theme': {dark: true}, 'app:version': [1, 2]});
      assert.deepEqual((await world.reload(otherUser)).state, {'app:version': [1, 2]});
      const elsewhere = await world.service.createSession({appName: `${world.appName}-2`, userId: world.userId});
      assert.deepEqual(elsewhere.state, {}, 'another app shares nothing, also with the same user');
    },
  },
  {
    name: "temp: keys reach the caller's state and nothing else",
    async check(world) {
      const session = await world.open();
      const stored = await world.append(session, {actions: {stateDelta: {kept: 1, 'temp:scratch': {deep: 2}}}});
      assert.deepEqual(session.state, {kept: 1, 'temp:scratch': {deep: 2}});
      assert.deepEqual(stored.actions.stateDelta, {kept: 1});
      assert.deepEqual(session.events[0]?.actions.stateDelta, {kept: 1});
      await world.append(session, {actions: {stateDelta: {'temp:only': true}}});
      assert.deepEqual(session.state, {kept: 1, 'temp:scratch': {deep: 2}, 'temp:only': true});
      const found = await world.reload(session);
      assert.deepEqual(found.state, {kept: 1});
      assert.deepEqual(
        found.events.map(({actions}) => actions.stateDelta),
        [{kept: 1}, {}],
      );
    },
  },
  {
    name: 'State.REMOVED removes a key from its scope',
    async check(world) {
      const session = await world.open({own: 1, kept: null, 'user:name': 'Ada', 'app:shared': 2});
      const delta = {own: State.REMOVED, 'user:name': State.REMOVED, 'app:shared': State.REMOVED, absent: State.REMOVED};
      await world.append(session, {actions: {stateDelta: delta}});
      assert.deepEqual(session.state, {kept: null});
      assert.deepEqual((await world.reload(session)).state, {kept: null});
      assert.deepEqual((await world.open()).state, {});
      await world.append(session, {actions: {stateDelta: {own: 'again'}}});
      assert.deepEqual((await world.reload(session)).state, {kept: null, own: 'again'});
    },
  },
  {
    name: 'the later append wins where two write one key',
    async check(world) {
      const session = await world.open();
      const other = await world.open();
      await world.append(session, {timestamp: 2_000, actions: {stateDelta: {'app:turn': 1, list: [1, 2]}}});
      await world.append(other, {timestamp: 1_000, actions: {stateDelta: {'app:turn': 2}}});
      await world.append(session, {actions: {stateDelta: {list: [3]}}});
      assert.deepEqual((await world.reload(session)).state, {'app:turn': 2, list: [3]});
    },
  },
  {
    name: 'keys such as __proto__ and constructor are ordinary keys',
    async check(world) {
      const session = await world.open();
      const delta = parse('{"__proto__":{"polluted":true},"constructor":{"prototype":1},"toString":"text","app:__proto__":7,"":"empty"}');
      const stored = await world.append(session, {actions: {stateDelta: delta}, customMetadata: parse('{"__proto__":1}')});
      const found = await world.reload(session);
      const [event] = found.events;
      assert.ok(event, 'the Event should be stored');
      for (const state of [session.state, found.state, stored.actions.stateDelta, event.actions.stateDelta]) {
        assert.deepEqual(entriesOf(state), entriesOf(delta));
      }
      assert.deepEqual(entriesOf(event.customMetadata ?? {}), [['__proto__', 1]]);
      assert.equal(Reflect.get({}, 'polluted'), undefined);
      assert.equal(Reflect.get(found.state, 'polluted'), undefined);
      await world.append(session, {actions: {stateDelta: parse(`{"__proto__":"${State.REMOVED}","constructor":"${State.REMOVED}"}`)}});
      assert.deepEqual(Object.keys((await world.reload(session)).state).toSorted(), ['', 'app:__proto__', 'toString']);
    },
  },
];

/** A literal could not have `__proto__` as an ordinary key. */
function parse(text: string): Record<string, unknown> {
  return JSON.parse(text) as Record<string, unknown>;
}

/** Own entries in an order that does not depend on the store. */
function entriesOf(record: object): [string, unknown][] {
  return Object.keys(record)
    .toSorted()
    .map((key) => [key, Reflect.getOwnPropertyDescriptor(record, key)?.value]);
}
