import {describe, expect, test} from 'vitest';
import {InvalidOptionError} from '../../lib/errors.ts';
import {
  anyOf,
  checkOptions,
  isAnything,
  isBoolean,
  isFunction,
  isObject,
  isOneOf,
  isPositiveMs,
  isString,
  isWholeNumber,
  optional,
  type OptionSpec,
} from '../../lib/schema/options.ts';

interface Bag {
  readonly name: string;
  readonly timeoutMs?: number | undefined;
  readonly maxLlmCalls?: number;
  readonly mode?: 'none' | 'sse';
  readonly tools?: object;
}

const spec: OptionSpec<Bag> = {
  name: isString,
  timeoutMs: optional(isPositiveMs),
  maxLlmCalls: optional(anyOf(isWholeNumber(), isOneOf([Infinity]))),
  mode: optional(isOneOf(['none', 'sse'])),
  tools: optional(isObject),
};

function errorOf(bag: unknown): InvalidOptionError {
  try {
    checkOptions('bag', bag as Bag, spec);
  } catch (thrown) {
    if (thrown instanceof InvalidOptionError) return thrown;
  }
  throw new Error('Nothing was refused');
}

describe('checkOptions', () => {
  test('accepts a bag of good options, and those that are undefined', () => {
    checkOptions('bag', {name: 'a', timeoutMs: Infinity, maxLlmCalls: -1, mode: 'sse', tools: {}}, spec);
    checkOptions('bag', {name: 'a', timeoutMs: undefined}, spec);
    checkOptions('bag', {name: 'a', unheardOf: undefined} as Bag, spec);
  });

  test('refuses an unknown option, lists the known ones and tells the nearest', () => {
    const error = errorOf({name: 'a', timeOut: 5});
    expect(error.option).toBe('bag.timeOut');
    expect(error.message).toBe(
      'Expected `bag.timeOut` to be absent, as there is no such option (did you mean `timeoutMs`? known: name, timeoutMs, maxLlmCalls, mode, tools), got 5 (number)',
    );
    expect(errorOf({name: 'a', maxLLMCall: 5}).message).toContain('did you mean `maxLlmCalls`?');
    expect(errorOf({name: 'a', tool: []}).message).toContain('did you mean `tools`?');
  });

  test('guesses nothing where nothing is near', () => {
    expect(errorOf({name: 'a', temperature: 1}).message).toContain('no such option (known: name,');
    expect(errorOf({name: 'a', constructor: 1}).option).toBe('bag.constructor');
    expect(errorOf({name: 'a', ['__proto__']: 1}).option).toBe('bag.__proto__');
  });

  test.each([
    ['a required one that is missing', {}, 'Expected `bag.name` to be a string, got undefined'],
    ['a wrong type', {name: 3}, 'Expected `bag.name` to be a string, got 3 (number)'],
    ['no time', {name: 'a', timeoutMs: 0}, 'Expected `bag.timeoutMs` to be a number of milliseconds above 0, or Infinity, got 0 (number)'],
    [
      'NaN',
      {name: 'a', timeoutMs: Number.NaN},
      'Expected `bag.timeoutMs` to be a number of milliseconds above 0, or Infinity, got NaN (number)',
    ],
    ['a fraction', {name: 'a', maxLlmCalls: 1.5}, 'Expected `bag.maxLlmCalls` to be a whole number, or Infinity, got 1.5 (number)'],
    ['an unknown value', {name: 'a', mode: 'bidi'}, 'Expected `bag.mode` to be "none" or "sse", got "bidi" (string)'],
    ['null', {name: 'a', mode: null}, 'Expected `bag.mode` to be "none" or "sse", got null'],
  ])('refuses %s', (_what, bag, message) => {
    expect(errorOf(bag).message).toBe(message);
  });

  test.each([[undefined], [null], ['a'], [[]], [() => {}]])('refuses %o in place of a bag', (bag) => {
    expect(errorOf(bag).message).toMatch(/^Expected `bag` to be an object of options, got /);
  });
});

describe('checks', () => {
  test('isWholeNumber keeps its bounds and says them', () => {
    const check = isWholeNumber({min: 1, max: 3});
    expect([0, 1, 3, 4, 1.5, '1', Infinity, Number.NaN].map(check.accepts)).toEqual([false, true, true, false, false, false, false, false]);
    expect(check.expected).toBe('a whole number of at least 1 and of at most 3');
    expect(isWholeNumber({max: 3}).expected).toBe('a whole number of at most 3');
    expect(isWholeNumber({min: 0}).expected).toBe('a whole number of at least 0');
  });

  test('the others tell types apart', () => {
    const values = ['a', true, () => {}, {}, [], null, undefined, 5];
    expect(values.map(isString.accepts)).toEqual([true, false, false, false, false, false, false, false]);
    expect(values.map(isBoolean.accepts)).toEqual([false, true, false, false, false, false, false, false]);
    expect(values.map(isFunction.accepts)).toEqual([false, false, true, false, false, false, false, false]);
    expect(values.map(isObject.accepts)).toEqual([false, false, false, true, false, false, false, false]);
    expect(values.map(isAnything.accepts)).toEqual(values.map(() => true));
  });
});
