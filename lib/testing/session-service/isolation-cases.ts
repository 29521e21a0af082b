import assert from 'node:assert/strict';
import {createEvent} from '../../events/event.ts';
import {keyOf, type SessionCase, vandalise} from './session-case.ts';

/** What a caller changes in what it gave or got changes nothing stored. */
export const isolationCases: readonly SessionCase[] = [
  {
    name: 'what a caller changes in an Event that it appends is not stored, not even before the append is done',
    async check(world) {
      const session = await world.open();
      const part = {text: 'hello'};
      const actions = {stateDelta: {cart: {items: [1]}, 'temp:t': [1]}};
      const event = createEvent({content: {role: 'user', parts: [part]}, actions});
      const pending = world.service.appendEvent({session, event});
      part.text = 'vandalised at once';
      const stored = structuredClone(await pending);
      vandalise(event);
      assert.equal(stored.content?.parts?.[0]?.text, 'hello');
      const found = await world.reload(session);
      assert.deepEqual([found.events, found.state], [[stored], {cart: {items: [1]}}]);
      assert.deepEqual([session.events, session.state], [[stored], {cart: {items: [1]}, 'temp:t': [1]}]);
    },
  },
  {
    name: 'what a caller changes in the Event that appendEvent returned is not stored',
    async check(world) {
      const session = await world.open();
      const returned = await world.append(session, {content: {parts: [{text: 'hello'}]}, actions: {stateDelta: {cart: {items: [1]}}}});
      const before = structuredClone(await world.reload(session));
      vandalise(returned);
      assert.deepEqual(await world.reload(session), before);
    },
  },
  {
    name: 'what a caller changes in a session that it made, got or listed is not stored',
    async check(world) {
      const session = await world.open({cart: {items: [1]}, 'app:menu': ['tea'], 'user:name': {first: 'Ada'}});
      await world.append(session, {content: {parts: [{text: 'hello'}]}});
      const before = structuredClone(await world.reload(session));
      const {sessions} = await world.service.listSessions({appName: world.appName});
      for (const record of [session, await world.reload(session), await world.reload(session, {numRecentEvents: 1}), ...sessions])
        vandalise(record);
      assert.deepEqual(await world.service.getSession(keyOf(before)), before);
    },
  },
  {
    name: 'what a caller changes in the initial state that it gave is not stored',
    async check(world) {
      const state = {cart: {items: [1]}, 'app:menu': ['tea']};
      const session = await world.open(state);
      vandalise(state);
      assert.deepEqual((await world.reload(session)).state, {cart: {items: [1]}, 'app:menu': ['tea']});
    },
  },
  {
    name: 'two records of one session do not share what they hold',
    async check(world) {
      const session = await world.open({topic: 'sluices'});
      const other = await world.reload(session);
      await world.append(session, {actions: {stateDelta: {topic: 'locks'}}});
      assert.deepEqual([other.events, other.state], [[], {topic: 'sluices'}]);
    },
  },
];
