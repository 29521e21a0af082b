import assert from 'node:assert/strict';
import {createEvent} from '../../events/event.ts';
import {idsOf, keyOf, type SessionCase, type SessionWorld} from './session-case.ts';

/** claimSession. A store without it passes them all. */
export const epochCases: readonly SessionCase[] = [
  {
    name: 'claimSession gives a higher epoch each time, and the last one may write',
    check: whereClaimed(async (world, claim) => {
      const session = await world.open();
      const first = await claim(keyOf(session));
      const second = await claim(keyOf(session));
      assert.ok(Number.isSafeInteger(first) && second > first, `${second} should be above ${first}`);
      await world.service.appendEvent({session, event: createEvent({id: 'e1'}), epoch: second});
      await world.service.appendEvent({session, event: createEvent({id: 'e2'}), epoch: second});
      assert.deepEqual(idsOf(await world.reload(session)), ['e1', 'e2']);
    }),
  },
  {
    name: 'a write with an older epoch is refused, and its Event handed back',
    check: whereClaimed(async (world, claim) => {
      const session = await world.open();
      const stale = await claim(keyOf(session));
      await world.service.appendEvent({session, event: createEvent({id: 'e1'}), epoch: stale});
      const epoch = await claim(keyOf(session));
      const event = createEvent({id: 'late', actions: {stateDelta: {topic: 'late', 'app:topic': 'late'}}});
      await assert.rejects(world.service.appendEvent({session, event, epoch: stale}), (error: unknown) => {
        assert.equal(Reflect.get(error as object, 'code'), 'SESSION_CONFLICT');
        assert.deepEqual(Reflect.get(error as object, 'events'), [event]);
        return true;
      });
      for (const record of [session, await world.reload(session)]) assert.deepEqual([idsOf(record), record.state], [['e1'], {}]);
      await world.service.appendEvent({session, event: createEvent({id: 'e2'}), epoch});
      assert.deepEqual(idsOf(await world.reload(session)), ['e1', 'e2']);
    }),
  },
  {
    name: 'a write without an epoch is always accepted and makes no run stale',
    check: whereClaimed(async (world, claim) => {
      const session = await world.open();
      const epoch = await claim(keyOf(session));
      await world.append(await world.reload(session), {id: 'outside'});
      await world.service.appendEvent({session, event: createEvent({id: 'inside'}), epoch});
      assert.deepEqual(idsOf(await world.reload(session)), ['outside', 'inside']);
    }),
  },
  {
    name: 'a claim concerns its own session only, and needs one',
    check: whereClaimed(async (world, claim) => {
      const session = await world.open();
      const other = await world.open();
      const epoch = await claim(keyOf(session));
      await claim(keyOf(other));
      await claim(keyOf(other));
      await world.service.appendEvent({session, event: createEvent({id: 'e1'}), epoch});
      assert.deepEqual(idsOf(await world.reload(session)), ['e1']);
      await assert.rejects(claim({...keyOf(session), sessionId: 'none'}), {code: 'SESSION_NOT_FOUND'});
    }),
  },
  {
    name: 'a run on a deleted session is stale in the one that takes its id',
    check: whereClaimed(async (world, claim) => {
      const session = await world.open();
      await claim(keyOf(session));
      const epoch = await claim(keyOf(session));
      await world.service.deleteSession(keyOf(session));
      await world.service.createSession(keyOf(session));
      await assert.rejects(world.service.appendEvent({session, event: createEvent(), epoch}), {code: 'SESSION_CONFLICT'});
      assert.deepEqual((await world.reload(session)).events, []);
    }),
  },
];

type Claim = NonNullable<SessionWorld['service']['claimSession']>;

function whereClaimed(check: (world: SessionWorld, claim: Claim) => Promise<void>): SessionCase['check'] {
  return async (world) => {
    const {service} = world;
    if (service.claimSession) await check(world, service.claimSession.bind(service));
  };
}
