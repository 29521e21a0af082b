import {expectOption, InvalidOptionError} from '../errors.ts';
import {isRecord} from './is-record.ts';

/** Says what one option may be. */
export interface Check {
  /** Completes the sentence "Expected `x` to be ...". */
  readonly expected: string;
  readonly accepts: (value: unknown) => boolean;
}

/** A check for every option of a bag, so that an option that is added to the type and forgotten here does not compile. */
export type OptionSpec<T extends object> = {readonly [K in keyof T]-?: Check};

/**
 * Checks a bag of options as a whole: every option by its own check, and that there is no other. An option whose value is `undefined`
 * counts as absent, whatever its name.
 *
 * @param owner - names the bag in errors, for example `runConfig`
 * @param ignored - other options that may be there
 * @throws {@link InvalidOptionError} for the first option that cannot be used; a misspelt one is told the nearest that exists
 */
export function checkOptions<T extends object>(owner: string, bag: T, spec: OptionSpec<T>, ignored: readonly string[] = []): void {
  expectOption(isObject.accepts(bag), owner, 'an object of options', bag);
  for (const [key, value] of Object.entries(bag)) {
    if (value !== undefined && !Object.hasOwn(spec, key) && !ignored.includes(key))
      throw unknownOption(owner, key, value, Object.keys(spec));
  }
  checkValues(owner, bag, spec);
}

/**
 * Checks the options that a spec names, and lets others be.
 *
 * @throws {@link InvalidOptionError} for the first that cannot be used
 */
export function checkValues<T extends object>(owner: string, bag: T, spec: Partial<OptionSpec<T>>): void {
  for (const [key, {expected, accepts}] of Object.entries<Check>(spec as OptionSpec<T>)) {
    const value = bag[key as keyof T];
    if (!accepts(value)) throw new InvalidOptionError(`${owner}.${key}`, expected, value);
  }
}

/** A string, also an empty one. */
export const isString: Check = {expected: 'a string', accepts: (value) => typeof value === 'string'};
/** A string with something in it. */
export const isName: Check = {expected: 'a non-empty string', accepts: (value) => typeof value === 'string' && value !== ''};
/** `true` or `false`. */
export const isBoolean: Check = {expected: 'a boolean', accepts: (value) => typeof value === 'boolean'};
/** A function or a class. */
export const isFunction: Check = {expected: 'a function', accepts: (value) => typeof value === 'function'};
/** An object that is no array and no function. */
export const isObject: Check = {expected: 'an object', accepts: isRecord};
/** A number, also an infinite one. */
export const isNumber: Check = {expected: 'a number', accepts: (value) => typeof value === 'number' && !Number.isNaN(value)};
/** A length of time, in milliseconds. `Infinity` means without end. */
export const isPositiveMs: Check = {
  expected: 'a number of milliseconds above 0, or Infinity',
  accepts: (value) => typeof value === 'number' && value > 0,
};
/** A length of time that may be none, in milliseconds. `Infinity` means without end. */
export const isMs: Check = {
  expected: 'a number of milliseconds from 0, or Infinity',
  accepts: (value) => typeof value === 'number' && value >= 0,
};
/** For an option whose owner checks it itself. */
export const isAnything: Check = {expected: 'anything', accepts: () => true};

/** A number without a fraction. `Infinity` is none: allow it with `anyOf(isWholeNumber(), isOneOf([Infinity]))`. */
export function isWholeNumber({min = -Infinity, max = Infinity}: {readonly min?: number; readonly max?: number} = {}): Check {
  const from = min === -Infinity ? '' : ` of at least ${min}`;
  const to = max === Infinity ? '' : `${from && ' and'} of at most ${max}`;
  return {
    expected: `a whole number${from}${to}`,
    accepts: (value) => typeof value === 'number' && Number.isInteger(value) && value >= min && value <= max,
  };
}

/** Exactly one of these values. */
export function isOneOf(values: readonly (string | number | boolean | null)[]): Check {
  return {
    expected: values.map((value) => (typeof value === 'string' ? JSON.stringify(value) : String(value))).join(' or '),
    accepts: (value) => values.some((item) => Object.is(item, value)),
  };
}

/** What any of the checks accepts. */
export function anyOf(...checks: readonly Check[]): Check {
  return {
    expected: checks.map((check) => check.expected).join(', or '),
    accepts: (value) => checks.some((check) => check.accepts(value)),
  };
}

/** An object that has a method of this name: for a port that its user may fill without our class. */
export function has(method: string, expected: string): Check {
  return {expected, accepts: (value) => isRecord(value) && typeof value[method] === 'function'};
}

/** An option that may be absent. */
export function optional({expected, accepts}: Check): Check {
  return {expected, accepts: (value) => value === undefined || accepts(value)};
}

function unknownOption(owner: string, key: string, value: unknown, known: readonly string[]): InvalidOptionError {
  const near = nearest(key, known);
  const hint = near === undefined ? '' : `did you mean \`${near}\`? `;
  return new InvalidOptionError(`${owner}.${key}`, `absent, as there is no such option (${hint}known: ${known.join(', ')})`, value);
}

/** The known name that a misspelt one most likely means: it differs by at most a third of its letters and three, or one begins the other. */
export function nearest(name: string, known: readonly string[]): string | undefined {
  const most = Math.min(3, Math.max(1, name.length / 3));
  for (let edits = 0; edits <= most; edits++) {
    const near = known.find((option) => isWithin(name.toLowerCase(), option.toLowerCase(), edits));
    if (near !== undefined) return near;
  }
  return known.find((option) => name.length > 2 && (option.startsWith(name) || name.startsWith(option)));
}

/** Whether so many edits of a letter, or fewer, make one text of the other. */
function isWithin(a: string, b: string, edits: number): boolean {
  if (a === b) return true;
  const [c, d] = [a.slice(1), b.slice(1)];
  if (a[0] === b[0]) return isWithin(c, d, edits);
  return edits > 0 && (isWithin(c, b, edits - 1) || isWithin(a, d, edits - 1) || isWithin(c, d, edits - 1));
}
