import {isDeepStrictEqual} from 'node:util';
import {describe} from '../errors.ts';
import {ReplayError} from './testing-errors.ts';

export type EntryKind = 'step' | 'stream' | 'all' | 'child' | 'now' | 'uuid';

/** What a step came to. `json` is missing where the result was `undefined`. */
export type Outcome = {readonly json: string | undefined} | {readonly error: unknown};

/** One place in a seam: what was asked for there, and what it came to, once it has. */
export interface Entry {
  readonly kind: EntryKind;
  readonly name: string;
  outcome?: Outcome;
  /** The steps inside a fan-out, by name: their order is not the same twice. */
  readonly wave: Map<string, Entry>;
  /** The seam of a branch. */
  readonly journal: Journal;
}

/** The records of one seam. */
export class Journal {
  readonly path: string;
  readonly #entries: Entry[] = [];

  constructor(path: string) {
    this.path = path;
  }

  /** The entry at a place in the loop; throws a ReplayError if something else was asked for there before. */
  at(position: number, kind: EntryKind, name: string): Entry {
    const known = this.#entries[position];
    if (!known) return (this.#entries[position] = this.#create(kind, name));
    return expectSame(known, kind, name, `${this.path}at position ${position}`);
  }

  /** The same inside a fan-out, where only the name counts. */
  inWave(wave: Map<string, Entry>, kind: EntryKind, name: string): Entry {
    const known = wave.get(name);
    if (known) return expectSame(known, kind, name, `${this.path}in a fan-out`);
    const entry = this.#create(kind, name);
    wave.set(name, entry);
    return entry;
  }

  #create(kind: EntryKind, name: string): Entry {
    return {kind, name, wave: new Map(), journal: new Journal(`${this.path}in \`${name}\`, `)};
  }
}

function expectSame(known: Entry, kind: EntryKind, name: string, where: string): Entry {
  if (known.kind === kind && known.name === name) return known;
  throw new ReplayError(
    'REPLAY_DIVERGED',
    `Replay diverged ${where}: it was ${show(known.kind, known.name)}, now it is ${show(kind, name)}`,
  );
}

function show(kind: EntryKind, name: string): string {
  return kind === name ? `\`${kind}\`` : `${kind} \`${name}\``;
}

/** The result of an outcome: a new copy, or the very error thrown again. */
export function replay<T>(outcome: Outcome): T {
  if ('error' in outcome) throw outcome.error;
  return (outcome.json === undefined ? undefined : JSON.parse(outcome.json)) as T;
}

/** Whether two values are the same JSON, whatever the order of keys. */
export function sameJson(left: string | undefined, right: string | undefined): boolean {
  if (left === right) return true;
  return left !== undefined && right !== undefined && isDeepStrictEqual(JSON.parse(left), JSON.parse(right));
}

/** A value as JSON; `undefined` stays. Throws a ReplayError, saying where, if JSON would lose something. */
export function plainJson(value: unknown, what: string): string | undefined {
  const flaw = findFlaw(value, '', []);
  if (flaw) throw new ReplayError('REPLAY_NOT_PLAIN', `${what} must be plain JSON, but ${flaw}`);
  return JSON.stringify(value);
}

function findFlaw(value: unknown, path: string, above: readonly object[]): string | undefined {
  const is = (): string => `${path || 'it'} is ${describe(value)}`;
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return undefined;
  // A key whose value is `undefined` is an absent key; JSON leaves it out.
  if (value === undefined) return path.endsWith(']') ? is() : undefined;
  if (typeof value === 'number') return Number.isFinite(value) ? undefined : is();
  if (typeof value !== 'object') return is();
  if (above.includes(value)) return `${path || 'it'} holds itself`;
  const prototype: unknown = Object.getPrototypeOf(value);
  if (!Array.isArray(value) && prototype !== Object.prototype && prototype !== null) return is();
  const inner = [...above, value];
  const items = Array.isArray(value)
    ? Array.from<unknown, [string, unknown]>(value, (item, at) => [`${path}[${at}]`, item])
    : Object.entries(value).map(([key, item]) => [`${path}.${key}`, item] as const);
  for (const [at, item] of items) {
    const flaw = findFlaw(item, at, inner);
    if (flaw) return flaw;
  }
  return undefined;
}
