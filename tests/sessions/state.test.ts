import {describe, expect, test} from 'vitest';
import {InvalidOptionError} from '../../lib/errors.ts';
import {applyDelta, State, withoutTemporary} from '../../lib/sessions/state.ts';

const odd = (text: string): Record<string, unknown> => JSON.parse(text) as Record<string, unknown>;

describe('State', () => {
  test('reads see the writes at once, and the base is left alone', () => {
    const base = {topic: 'sluices', visits: 1, gone: true};
    const delta: Record<string, unknown> = {};
    const state = new State(base, delta);
    state.set('visits', state.get('visits', 0) + 1);
    state.delete('gone');
    state.update({fresh: null, 'user:name': 'Ada'});
    expect([state.get('visits'), state.get('gone'), state.get('gone', 'default'), state.get('fresh'), state.get('topic')]).toEqual([
      2,
      undefined,
      'default',
      null,
      'sluices',
    ]);
    expect([state.has('visits'), state.has('gone'), state.has('fresh'), state.has('none')]).toEqual([true, false, true, false]);
    expect(state.toRecord()).toEqual({topic: 'sluices', visits: 2, fresh: null, 'user:name': 'Ada'});
    expect(delta).toEqual({visits: 2, gone: State.REMOVED, fresh: null, 'user:name': 'Ada'});
    expect(base).toEqual({topic: 'sluices', visits: 1, gone: true});
  });

  test('a key set to undefined is removed, and can be set again', () => {
    const state = new State({topic: 'sluices'});
    state.set('topic', undefined);
    expect([state.has('topic'), state.get('topic', 'none'), state.toRecord()]).toEqual([false, 'none', {}]);
    state.update({topic: 'locks', other: undefined});
    expect(state.toRecord()).toEqual({topic: 'locks'});
  });

  test('objects are copied on the way in and on the way out', () => {
    const base = Object.freeze({cart: Object.freeze({items: Object.freeze([1])})});
    const state = new State(base);
    const cart = state.get<{items: number[]}>('cart')!;
    cart.items.push(2);
    expect(state.get('cart')).toEqual({items: [1]});
    state.set('cart', cart);
    cart.items.push(3);
    const record = state.toRecord() as {cart: {items: number[]}};
    record.cart.items.push(4);
    expect(state.get('cart')).toEqual({items: [1, 2]});
    expect(base).toEqual({cart: {items: [1]}});
  });

  test('toRecord is a copy also where nothing was written', () => {
    const base = {cart: [1]};
    const record = new State(base).toRecord();
    expect(record).toEqual(base);
    expect(record).not.toBe(base);
    expect(record['cart']).not.toBe(base.cart);
  });

  test('a value that JSON cannot hold is refused by its key, and nothing is written', () => {
    const delta = {};
    const state = new State({}, delta);
    const cycle: unknown[] = [];
    cycle.push(cycle);
    expect(() => state.set('big', 1n)).toThrow(new InvalidOptionError('state["big"]', 'a value that JSON can hold', 1n));
    expect(() => state.set('app:fn', {nested: [() => 1]})).toThrow(
      'Expected `state["app:fn"].nested[0]` to be a value that JSON can hold, got function',
    );
    expect(() => state.set('loop', cycle)).toThrow('Expected `state["loop"][0]` to be free of cycles, got an array of 1');
    for (const bad of [Number.NaN, Infinity, Symbol('s'), new Map(), new Set(), new Uint8Array(1), new Error('e'), /r/]) {
      expect(() => state.set('bad', bad)).toThrow(InvalidOptionError);
      expect(() => state.update({good: 1, bad})).toThrow(InvalidOptionError);
    }
    expect([delta, state.hasDelta()]).toEqual([{}, false]);
  });

  test('what has a JSON form is kept in that form', () => {
    const state = new State();
    state.set('at', new Date(0));
    state.set('never', new Date(Number.NaN));
    state.set('silent', {toJSON: undefined, list: [undefined, 1]});
    expect(state.toRecord()).toEqual({at: '1970-01-01T00:00:00.000Z', never: null, silent: {list: [null, 1]}});
  });

  test('keys that are no strings are refused', () => {
    const state = new State();
    for (const key of [1, undefined, null, Symbol('s'), {}] as unknown as string[]) {
      for (const use of [() => state.get(key), () => state.has(key), () => state.set(key, 1), () => state.delete(key)]) {
        expect(use).toThrow(/^Expected `key` to be a string, the name of a state key, got/);
      }
    }
    expect(state.hasDelta()).toBe(false);
  });

  test('records that are none are refused', () => {
    for (const bad of [null, 'text', [1]] as unknown as Record<string, unknown>[]) {
      expect(() => new State(bad)).toThrow('Expected `value` to be a record of state keys');
      expect(() => new State({}, bad)).toThrow('Expected `delta` to be a record of state keys');
      expect(() => new State().update(bad)).toThrow('Expected `delta` to be a record of state keys');
    }
  });

  test('keys such as __proto__ and constructor are ordinary keys', () => {
    const delta: Record<string, unknown> = {};
    const state = new State({}, delta);
    expect([state.get('constructor'), state.has('__proto__'), state.get('toString', 'none')]).toEqual([undefined, false, 'none']);
    state.set('__proto__', {polluted: true});
    state.set('constructor', 1);
    expect([state.get('__proto__'), state.get('constructor'), state.has('polluted')]).toEqual([{polluted: true}, 1, false]);
    expect(Object.keys(delta)).toEqual(['__proto__', 'constructor']);
    expect(Object.getPrototypeOf(delta)).toBe(Object.prototype);
    expect(JSON.stringify(state.toRecord())).toBe('{"__proto__":{"polluted":true},"constructor":1}');
    state.delete('__proto__');
    expect(state.has('__proto__')).toBe(false);
    state.update(odd('{"__proto__":2}'));
    expect(state.get('__proto__')).toBe(2);
  });
});

describe('applyDelta', () => {
  test('gives a new record, without removed keys, and the state itself for an empty delta', () => {
    const state = {kept: 1, gone: 2, changed: 3};
    const next = applyDelta(state, {gone: State.REMOVED, changed: 4, added: null, absent: undefined, never: State.REMOVED});
    expect(next).toStrictEqual({kept: 1, changed: 4, added: null});
    expect(state).toEqual({kept: 1, gone: 2, changed: 3});
    expect(applyDelta(state, {})).toBe(state);
  });

  test('takes __proto__ as a key, to set, change and remove', () => {
    const set = applyDelta({}, odd('{"__proto__":{"polluted":1}}'));
    expect(JSON.stringify(set)).toBe('{"__proto__":{"polluted":1}}');
    expect(Reflect.get(set, 'polluted')).toBeUndefined();
    expect(JSON.stringify(applyDelta(set, odd('{"__proto__":2,"b":1}')))).toBe('{"__proto__":2,"b":1}');
    expect(Object.keys(applyDelta(set, odd(`{"__proto__":"${State.REMOVED}"}`)))).toEqual([]);
  });
});

test('withoutTemporary keeps what is stored, and the delta itself where there is nothing to drop', () => {
  const delta = odd('{"a":1,"temp:b":2,"app:c":3,"user:temp:d":4,"temp:":5,"__proto__":6}');
  expect(JSON.stringify(withoutTemporary(delta))).toBe('{"a":1,"app:c":3,"user:temp:d":4,"__proto__":6}');
  expect(withoutTemporary({a: 1})).toEqual({a: 1});
  const plain = {a: 1};
  expect(withoutTemporary(plain)).toBe(plain);
});
