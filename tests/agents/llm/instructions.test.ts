import {describe, expect, it} from 'vitest';
import {injectState} from '../../../lib/agents/llm/instructions.ts';
import {InvalidOptionError} from '../../../lib/errors.ts';
import {State} from '../../../lib/sessions/state.ts';

function inject(template: string, state: Record<string, unknown> = {}): string {
  return injectState(template, {state: new State(state), agentName: 'weather'});
}

describe('injectState', () => {
  it('puts in values of every scope', () => {
    const state = {city: 'Paris', 'app:name': 'Demo', 'user:name': 'Ann', 'temp:step': 3};
    expect(inject('{city}: {app:name}, {user:name}, {temp:step}, {city}', state)).toBe('Paris: Demo, Ann, 3, Paris');
  });

  it('ignores spaces inside the braces and takes names in any script', () => {
    expect(inject('{ city } {straße} {_a1}', {city: 'Paris', straße: 'Rue', _a1: 'x'})).toBe('Paris Rue x');
  });

  it('writes values that are no text as JSON', () => {
    const state = {list: [1, 'a'], record: {a: {b: null}}, none: null, off: false, zero: 0, empty: ''};
    expect(inject('{list} {record} {none} {off} {zero} [{empty}]', state)).toBe('[1,"a"] {"a":{"b":null}} null false 0 []');
  });

  it('a missing key with a question mark is an empty text', () => {
    expect(inject('[{city?}] [{user:name?}] [{here?}]', {here: 'yes'})).toBe('[] [] [yes]');
  });

  it('a missing key is an error that names the key and the agent', () => {
    const state = new State({city: 'Paris'});
    state.delete('city');
    expect(() => injectState('Weather of {city}', {state, agentName: 'weather'})).toThrow(InvalidOptionError);
    expect(() => inject('Weather of {user:city}')).toThrow(
      'Expected `state.user:city` to be set, since `{user:city}` stands in the instruction of agent `weather` (`{user:city?}` may be missing), got undefined',
    );
    expect(() => inject('{toString}')).toThrow(InvalidOptionError);
  });

  it('leaves braces around anything else as they are', () => {
    const kept = [
      '{"a": 1}',
      "{'city'}",
      '{{city}}',
      '{{{city}}}',
      '{{ city }}',
      '{}',
      '{ }',
      '{1}',
      '{a b}',
      '{a.b}',
      '{artifact.report}',
      '{artifact.report?}',
      '{other:city}',
      '{app:}',
      '{app:a:b}',
      '{city??}',
      '{city',
      'city}',
      '{\ncity\n}',
      'function f() { return {a: 1}; }',
    ];
    for (const text of kept) expect(inject(text, {city: 'Paris', a: 1})).toBe(text);
  });

  it('finds a placeholder inside other braces', () => {
    expect(inject('{"city": {city}}', {city: '"Paris"'})).toBe('{"city": "Paris"}');
    expect(inject('${city}', {city: 'Paris'})).toBe('$Paris');
  });

  it('does not look into what it puts in', () => {
    expect(inject('{a} {b}', {a: '{b} $& $1', b: '{a}'})).toBe('{b} $& $1 {a}');
  });

  it('a value without a JSON form is an error', () => {
    expect(() => inject('{f}', {f: () => 1})).toThrow('Expected `state.f` to be a value that JSON can hold, got function f');
    expect(() => inject('{big}', {big: 1n})).toThrow('Expected `state.big` to be a value that JSON can hold, got 1 (bigint)');
  });

  it('takes time in proportion to the text, whatever stands in it', () => {
    const braces = '{'.repeat(200_000);
    const start = performance.now();
    expect(inject(braces)).toBe(braces);
    expect(inject(`{${' '.repeat(200_000)}`)).toHaveLength(200_001);
    expect(performance.now() - start).toBeLessThan(1_000);
  });
});
