import assert from 'node:assert/strict';
import {createEvent, type Event} from '../../events/event.ts';
import {idsOf, keyOf, type SessionCase} from './session-case.ts';

/** appendEvent, but for what it does to state. */
export const appendCases: readonly SessionCase[] = [
  {
    name: 'appendEvent stores an Event, returns it, and brings the record up to date',
    async check(world) {
      const session = await world.open({visits: 1});
      const event = createEvent({invocationId: 'run-1', author: 'clerk', timestamp: 12_345, actions: {stateDelta: {visits: 2}}});
      assert.deepEqual(await world.service.appendEvent({session, event}), event);
      const expected = {...keyOf(session), state: {visits: 2}, events: [event], lastUpdateTime: 12_345};
      for (const {id: sessionId, ...rest} of [session, await world.reload(session)]) assert.deepEqual({sessionId, ...rest}, expected);
    },
  },
  {
    name: 'an Event comes back with every value that it was stored with',
    async check(world) {
      const session = await world.open();
      const event = eventOfManyValues();
      await world.service.appendEvent({session, event});
      assert.deepEqual((await world.reload(session)).events, [event]);
    },
  },
  {
    name: 'Events keep the order of their appends, whatever their timestamps say',
    async check(world) {
      const session = await world.open();
      const ids: string[] = [];
      for (let index = 0; index < 30; index += 1) {
        ids.push(`e${index}`);
        await world.append(session, {id: `e${index}`, timestamp: 5_000 - (index % 3)});
      }
      assert.deepEqual(idsOf(await world.reload(session)), ids);
      assert.deepEqual(idsOf(session), ids);
    },
  },
  {
    name: 'a partial Event is returned and not stored',
    async check(world) {
      const session = await world.open();
      const event = createEvent({partial: true, content: {role: 'model', parts: [{text: 'He'}]}, actions: {stateDelta: {seen: true}}});
      assert.deepEqual(await world.service.appendEvent({session, event}), event);
      for (const record of [session, await world.reload(session)]) assert.deepEqual([record.events, record.state], [[], {}]);
    },
  },
  {
    name: 'an id that is appended again is stored once, at the end and further back',
    async check(world) {
      const session = await world.open();
      const first = createEvent({id: 'e1', actions: {stateDelta: {e1: true}}});
      const events = [first, ...['e2', 'e3'].map((id) => createEvent({id, actions: {stateDelta: {[id]: true}}}))];
      for (const event of events) {
        await world.service.appendEvent({session, event});
        assert.deepEqual(await world.service.appendEvent({session, event}), event);
      }
      assert.deepEqual(await world.service.appendEvent({session, event: first}), first);
      for (const record of [session, await world.reload(session)]) assert.deepEqual(record.events, events);
    },
  },
  {
    name: 'an id that is appended again keeps the Event that was stored first, and newer state',
    async check(world) {
      const session = await world.open();
      const first = await world.append(session, {id: 'e1', author: 'first', actions: {stateDelta: {topic: 'old'}}});
      await world.append(session, {id: 'e2', actions: {stateDelta: {topic: 'new'}}});
      await world.append(session, {id: 'e1', author: 'second', actions: {stateDelta: {topic: 'older', more: true}}});
      const found = await world.reload(session);
      assert.deepEqual(found.events[0], first);
      for (const record of [session, found]) assert.deepEqual([idsOf(record), record.state], [['e1', 'e2'], {topic: 'new'}]);
    },
  },
  {
    name: 'an id that is appended again through another record is stored once, and that record gets it',
    async check(world) {
      const session = await world.open();
      const other = await world.reload(session);
      const event = createEvent({id: 'e1', actions: {stateDelta: {topic: 'sluices'}}});
      await world.service.appendEvent({session, event});
      await world.service.appendEvent({session: other, event});
      for (const record of [other, await world.reload(session)])
        assert.deepEqual([record.events, record.state], [[event], {topic: 'sluices'}]);
    },
  },
  {
    name: 'an append to a session that is not there, or not any more, is refused',
    async check(world) {
      const session = await world.open();
      await world.service.deleteSession(keyOf(session));
      await assert.rejects(world.append(session, {actions: {stateDelta: {'app:shared': 1}}}), {code: 'SESSION_NOT_FOUND'});
      assert.equal(await world.service.getSession(keyOf(session)), undefined);
      assert.deepEqual((await world.open()).state, {});
    },
  },
  {
    name: 'an Event that JSON cannot hold is refused before anything is stored',
    async check(world) {
      const session = await world.open();
      const cycle: Record<string, unknown> = {};
      cycle['self'] = cycle;
      for (const bad of [10n, () => 1, Symbol('s'), Number.NaN, new Map([[1, 2]]), new Uint8Array(2), cycle]) {
        const params = {
          content: {parts: [{functionResponse: {name: 'f', response: {bad}}}]},
          actions: {stateDelta: {topic: 1, 'app:topic': 2}},
        };
        await assert.rejects(world.append(session, params), {code: 'INVALID_OPTION'});
        await assert.rejects(world.append(session, {actions: {stateDelta: {topic: 1, bad}}}), {code: 'INVALID_OPTION'});
      }
      for (const record of [session, await world.reload(session)]) assert.deepEqual([record.events, record.state], [[], {}]);
    },
  },
  {
    name: 'what is no Event is refused',
    async check(world) {
      const session = await world.open();
      const bad = [
        undefined,
        null,
        'event',
        {},
        createEvent({id: ''}),
        {...createEvent(), actions: undefined},
        createEvent({timestamp: Number.NaN}),
      ];
      for (const event of bad) await assert.rejects(world.service.appendEvent({session, event: event as Event}), {code: 'INVALID_OPTION'});
      assert.deepEqual((await world.reload(session)).events, []);
    },
  },
  {
    name: 'appends that run at the same time are each stored once and lose nothing',
    async check(world) {
      const session = await world.open();
      const other = await world.reload(session);
      const third = await world.open();
      const ids = Array.from({length: 24}, (_, index) => `e${index}`);
      const targets = [session, other, third].flatMap((target) => Array.from({length: 8}, () => target));
      await Promise.all(
        targets.map((target, index) => world.append(target, {id: `e${index}`, actions: {stateDelta: {[`app:e${index}`]: index}}})),
      );
      const found = [...(await world.reload(session)).events, ...(await world.reload(third)).events];
      assert.deepEqual(found.map(({id}) => id).toSorted(), ids.toSorted());
      assert.deepEqual((await world.open()).state, Object.fromEntries(ids.map((id, index) => [`app:${id}`, index])));
    },
  },
];

function eventOfManyValues(): Event {
  return createEvent({
    invocationId: 'run-1',
    author: 'weather',
    branch: 'root.left',
    content: {
      role: 'model',
      parts: [
        {text: '', thoughtSignature: 'c2lnbmF0dXJl'},
        {text: 'Grüße, 世界 👋 "quoted" \\ \n end'},
        {
          functionCall: {
            id: 'call-1',
            name: 'get',
            args: {text: '', zero: 0, float: 0.1, negative: -1e-7, no: false, none: null, list: [[], {}]},
          },
        },
        {inlineData: {mimeType: 'image/png', data: 'iVBORw0KGgo='}},
      ],
    },
    longRunningToolIds: ['call-1'],
    usageMetadata: {promptTokenCount: 5, totalTokenCount: 9},
    finishReason: 'STOP',
    customMetadata: {deep: {deeper: [{deepest: Number.MAX_SAFE_INTEGER}]}},
    actions: {artifactDelta: {'a.txt': 0}, escalate: false},
  });
}
