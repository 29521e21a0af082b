import {InvalidOptionError} from '../errors.ts';

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
 * @throws {@link InvalidOptionError} for the first option that cannot be used; a misspelt one is told the nearest that exists
 */
export function checkOptions<T extends object>(owner: string, bag: T, spec: OptionSpec<T>): void {
  if (!isObject.accepts(bag)) throw new InvalidOptionError(owner, 'an object of options', bag);
  const values = bag as Readonly<Record<string, unknown>>;
  const checks = spec as Readonly<Record<string, Check>>;
  for (const [key, value] of Object.entries(values)) {
    if (value !== undefined && !Object.hasOwn(checks, key)) throw unknownOption(owner, key, value, Object.keys(checks));
  }
  for (const [key, check] of Object.entries(checks)) {
    const value = values[key];
    if (!check.accepts(value)) throw new InvalidOptionError(`${owner}.${key}`, check.expected, value);
  }
}

/** A string, also an empty one. */
export const isString: Check = {expected: 'a string', accepts: (value) => typeof value === 'string'};
/** `true` or `false`. */
export const isBoolean: Check = {expected: 'a boolean', accepts: (value) => typeof value === 'boolean'};
/** A function or a class. */
export const isFunction: Check = {expected: 'a function', accepts: (value) => typeof value === 'function'};
/** An object that is no array and no function. */
export const isObject: Check = {
  expected: 'an object',
  accepts: (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
};
/** A length of time, in milliseconds. `Infinity` means without end. */
export const isPositiveMs: Check = {
  expected: 'a number of milliseconds above 0, or Infinity',
  accepts: (value) => typeof value === 'number' && value > 0,
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

/** An option that may be absent. */
export function optional(check: Check): Check {
  return {expected: check.expected, accepts: (value) => value === undefined || check.accepts(value)};
}

function unknownOption(owner: string, key: string, value: unknown, known: readonly string[]): InvalidOptionError {
  const near = nearest(key, known);
  const hint = near === undefined ? '' : `did you mean \`${near}\`? `;
  return new InvalidOptionError(`${owner}.${key}`, `absent, as there is no such option (${hint}known: ${known.join(', ')})`, value);
}

/** The known name that a misspelt one most likely means: it differs by at most a third of its letters, or one name begins the other. */
function nearest(name: string, known: readonly string[]): string | undefined {
  let best: string | undefined;
  let least = Math.max(1, Math.floor(name.length / 3)) + 1;
  for (const candidate of known) {
    const [a, b] = [name.toLowerCase(), candidate.toLowerCase()];
    const distance = a.length > 2 && (b.startsWith(a) || a.startsWith(b)) ? 1 : editDistance(a, b);
    if (distance < least) [best, least] = [candidate, distance];
  }
  return best;
}

function editDistance(a: string, b: string): number {
  let row = Array.from({length: b.length + 1}, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const substitution = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(substitution, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}
