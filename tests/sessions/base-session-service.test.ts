import {describe, expect, test} from 'vitest';
import {createEvent} from '../../lib/events/event.ts';
import {recordEvent} from '../../lib/sessions/base-session-service.ts';
import type {Session} from '../../lib/sessions/session.ts';

const record = (): Session => ({id: 's', appName: 'demo', userId: 'ada', state: {topic: 'old'}, events: [], lastUpdateTime: 0});

describe('recordEvent', () => {
  test('gives a record a frozen copy without temp: keys, and its state the whole delta', () => {
    const session = record();
    const event = createEvent({id: 'e1', timestamp: 7, actions: {stateDelta: {topic: ['new'], 'temp:scratch': [1]}}});
    const stored = recordEvent(session, event);
    (event.actions.stateDelta['topic'] as string[]).push('changed later');
    (event.actions.stateDelta['temp:scratch'] as number[]).push(2);
    expect(session.events).toEqual([{...event, actions: {...event.actions, stateDelta: {topic: ['new']}}}]);
    expect(session.events[0]).toBe(stored);
    expect(Object.isFrozen(stored.actions.stateDelta)).toBe(true);
    expect([session.state, session.lastUpdateTime]).toEqual([{topic: ['new'], 'temp:scratch': [1]}, 7]);
  });

  test('replaces the state, so that who holds the one before still sees that', () => {
    const session = record();
    const before = session.state;
    recordEvent(session, createEvent({actions: {stateDelta: {topic: 'new'}}}));
    expect([before, session.state]).toEqual([{topic: 'old'}, {topic: 'new'}]);
  });

  test('changes nothing for a partial Event, and for an id that stands in the record', () => {
    const session = record();
    const first = recordEvent(session, createEvent({id: 'e1', actions: {stateDelta: {topic: 1}}}));
    const second = recordEvent(session, createEvent({id: 'e2', actions: {stateDelta: {topic: 2}}}));
    const partial = createEvent({id: 'e3', partial: true, actions: {stateDelta: {topic: 3}}});
    expect(recordEvent(session, partial)).toBe(partial);
    expect(recordEvent(session, createEvent({id: 'e1', actions: {stateDelta: {topic: 4}}}))).toBe(first);
    expect([session.events, session.state]).toEqual([[first, second], {topic: 2}]);
  });

  test('changes nothing where JSON cannot hold the Event', () => {
    const session = record();
    const bad = createEvent({actions: {stateDelta: {topic: 'new', 'temp:run': () => 1}}});
    expect(() => recordEvent(session, bad)).toThrow('Expected `event.actions.stateDelta["temp:run"]` to be a value that JSON can hold');
    expect(session).toEqual(record());
  });
});
