import {describe, expect, test, vi} from 'vitest';
import {InvalidOptionError, SessionConflictError} from '../../lib/errors.ts';
import {createEvent, type Event} from '../../lib/events/event.ts';
import {frozenCopy} from '../../lib/schema/json-copy.ts';
import type {AppendEventRequest} from '../../lib/sessions/base-session-service.ts';
import {InMemorySessionService} from '../../lib/sessions/in-memory-session-service.ts';
import type {Session} from '../../lib/sessions/session.ts';
import {sessionServiceSuite} from '../../lib/testing/session-service-suite.ts';

describe('InMemorySessionService is a session service', () => {
  test.each(sessionServiceSuite(() => new InMemorySessionService()))('$name', async ({run}) => {
    await expect(run()).resolves.toBeUndefined();
  });

  test('also where all cases run at once on one service', async () => {
    const service = new InMemorySessionService();
    const cases = sessionServiceSuite(() => service);
    expect(await Promise.all(cases.map(({run}) => run()))).toEqual(cases.map(() => undefined));
  });
});

const ada = {appName: 'demo', userId: 'ada'};

async function open(): Promise<{service: InMemorySessionService; session: Session}> {
  const service = new InMemorySessionService();
  return {service, session: await service.createSession({...ada, sessionId: 's'})};
}

const reload = (service: InMemorySessionService): Promise<Session | undefined> => service.getSession({...ada, sessionId: 's'});

test('getSession hands out the stored Events themselves, frozen all through, in a list of its own', async () => {
  const {service, session} = await open();
  const stored = await service.appendEvent({
    session,
    event: createEvent({content: {parts: [{functionCall: {name: 'f', args: {list: [{}]}}}]}}),
  });
  const first = await reload(service);
  const second = await reload(service);
  expect(session.events[0]).toBe(stored);
  expect(first?.events[0]).toBe(stored);
  expect(second?.events[0]).toBe(stored);
  expect(first?.events).not.toBe(second?.events);
  expectFrozen(stored);
});

test("getSession gives a state of the caller's own whose values are frozen", async () => {
  const {service, session} = await open();
  await service.appendEvent({session, event: createEvent({actions: {stateDelta: {cart: {items: [1]}, 'temp:scratch': {deep: [1]}}}})});
  expectFrozen(session.state['temp:scratch']);
  const found = await reload(service);
  expectFrozen(found?.state['cart']);
  found!.state['own'] = 1;
  expect((await reload(service))?.state).toEqual({cart: {items: [1]}});
});

test('an append takes its copy before it returns', async () => {
  const {service, session} = await open();
  const event = createEvent({author: 'before'});
  const pending = service.appendEvent({session, event});
  event.author = 'after';
  await pending;
  expect((await reload(service))?.events.map(({author}) => author)).toEqual(['before']);
});

test('an Event that JSON cannot hold is refused with its path', async () => {
  const {service, session} = await open();
  const content = {parts: [{text: 'a'}, {functionResponse: {name: 'f', response: {rows: [{'row id': 10n}]}}}]};
  await expect(service.appendEvent({session, event: createEvent({content})})).rejects.toThrow(
    new InvalidOptionError('event.content.parts[1].functionResponse.response.rows[0]["row id"]', 'a value that JSON can hold', 10n),
  );
  for (const key of ['kept', 'temp:scratch']) {
    const refused = service.appendEvent({session, event: createEvent({actions: {stateDelta: {good: 1, 'temp:t': 1, [key]: () => 1}}})});
    await expect(refused).rejects.toThrow(/^Expected `event\.actions\.stateDelta.*` to be a value that JSON can hold, got function/);
  }
  expect([session.events, session.state, (await reload(service))?.events]).toEqual([[], {}, []]);
});

test('a Date and a class instance are stored as JSON would write them', async () => {
  class Money {
    readonly amount = 5;
    readonly currency = 'EUR';
  }
  const {service, session} = await open();
  const actions = {stateDelta: {at: new Date(0), price: new Money(), left: undefined}};
  const stored = await service.appendEvent({session, event: createEvent({actions})});
  const expected = {at: '1970-01-01T00:00:00.000Z', price: {amount: 5, currency: 'EUR'}};
  expect(stored.actions.stateDelta).toStrictEqual(expected);
  expect(session.state).toStrictEqual(expected);
  expect((await reload(service))?.state).toStrictEqual(expected);
});

test('a conflict holds the very Event that was not stored, and a stale retry of a stored one is none', async () => {
  const {service, session} = await open();
  const stale = await service.claimSession({...ada, sessionId: 's'});
  const stored = await service.appendEvent({session, event: createEvent({id: 'e1'}), epoch: stale});
  await service.claimSession({...ada, sessionId: 's'});
  const event = createEvent({id: 'e2'});
  const error: unknown = await service.appendEvent({session, event, epoch: stale}).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(SessionConflictError);
  expect((error as SessionConflictError).events[0]).toBe(event);
  expect(await service.appendEvent({session, event: createEvent({id: 'e1'}), epoch: stale})).toBe(stored);
  await expect(service.appendEvent({session, event, epoch: Number.NaN})).rejects.toThrow(SessionConflictError);
});

test('a retry through a record that lacks the Event brings it up to date without rolling state back', async () => {
  const {service, session} = await open();
  const behind = await reload(service);
  const event = createEvent({id: 'e1', actions: {stateDelta: {turn: 1, 'temp:scratch': 'a'}}});
  await service.appendEvent({session, event});
  await service.appendEvent({session, event: createEvent({id: 'e2', actions: {stateDelta: {turn: 2}}})});
  behind!.state['temp:mine'] = true;
  await service.appendEvent({session: behind!, event});
  expect(behind!.events.map(({id}) => id)).toEqual(['e1']);
  expect(behind!.state).toEqual({turn: 2, 'temp:mine': true, 'temp:scratch': 'a'});
});

test('a session record that is none is refused', async () => {
  const {service, session} = await open();
  for (const bad of [undefined, null, 's', {id: 's'}]) {
    await expect(service.appendEvent({session: bad as unknown as Session, event: createEvent()})).rejects.toThrow(/^Expected `session`/);
  }
  await expect(service.appendEvent({session: {...session, id: 'none'}, event: createEvent()})).rejects.toThrow(
    'No session `none` of user `ada` in app `demo`',
  );
});

test("lastUpdateTime is the creation, then the last appended Event's time", async () => {
  vi.useFakeTimers({now: 5_000});
  try {
    const {service, session} = await open();
    expect(session.lastUpdateTime).toBe(5_000);
    await service.appendEvent({session, event: createEvent({timestamp: 7_000})});
    expect([session.lastUpdateTime, (await reload(service))?.lastUpdateTime]).toEqual([7_000, 7_000]);
  } finally {
    vi.useRealTimers();
  }
});

test('an append to a session of 20,000 Events costs what one to a short session does', async () => {
  const {service, session} = await open();
  const batch = async (target: Session, size: number): Promise<number> => {
    const start = performance.now();
    for (let index = 0; index < size; index += 1) {
      await service.appendEvent({session: target, event: createEvent({actions: {stateDelta: {turn: index}}})});
    }
    return performance.now() - start;
  };
  await batch(session, 20_000);
  const long: number[] = [];
  const short: number[] = [];
  for (let round = 0; round < 12; round += 1) {
    long.push(await batch(session, 250));
    short.push(await batch(await service.createSession(ada), 250));
  }
  expect((await reload(service))?.events).toHaveLength(23_000);
  // What looks through the session is some 20 times dearer on the long one. The best of many batches is what a busy machine leaves alone.
  expect(Math.min(...long)).toBeLessThan(Math.min(...short) * 5);
});

test('a store that is slow keeps every promise', async () => {
  class SlowSessionService extends InMemorySessionService {
    override async appendEvent(request: AppendEventRequest): Promise<Event> {
      // The copy must be taken at once: what the caller changes during the wait is not meant to be stored.
      const event = frozenCopy(request.event, 'event');
      await new Promise((resolve) => setImmediate(resolve));
      const stored = await super.appendEvent({...request, event});
      await new Promise((resolve) => setImmediate(resolve));
      return stored;
    }
  }
  const cases = sessionServiceSuite(() => new SlowSessionService());
  expect(await Promise.all(cases.map(({run}) => run()))).toEqual(cases.map(() => undefined));

  const service = new SlowSessionService();
  const session = await service.createSession(ada);
  for (let step = 0; step < 5; step += 1) {
    await service.appendEvent({session, event: createEvent({id: `e${step}`})});
    // What the next step is built from holds the step before.
    expect(session.events.at(-1)?.id).toBe(`e${step}`);
  }
});

function expectFrozen(value: unknown): void {
  if (typeof value !== 'object' || value === null) return;
  expect(Object.isFrozen(value)).toBe(true);
  for (const item of Object.values(value)) expectFrozen(item);
}
