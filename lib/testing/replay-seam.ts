import type {Gate} from '../async/gate.ts';
import type {Steps} from '../steps/steps.ts';
import {never, type ReplayAttempt} from './replay-attempt.ts';
import {replay, sameJson, type Entry, type EntryKind, type Journal, type Outcome} from './replay-journal.ts';
import {ReplayError} from './testing-errors.ts';

interface Wave {
  readonly entries: Map<string, Entry>;
  /** How often each name came up in this attempt. */
  readonly seen: Map<string, number>;
}

/** The seam of one attempt: what the journal has is given from there, everything else runs and is recorded. */
export class ReplaySeam implements Steps {
  readonly #attempt: ReplayAttempt;
  readonly #journal: Journal;
  #position = 0;
  /** The fan-out under way. */
  #wave: Wave | undefined;

  constructor(attempt: ReplayAttempt, journal: Journal) {
    this.#attempt = attempt;
    this.#journal = journal;
  }

  async step<T>(name: string, run: () => T | PromiseLike<T>): Promise<T> {
    const entry = this.#take('step', name);
    if (!entry) return never();
    return entry.outcome ? replay<T>(entry.outcome) : this.#attempt.run(entry, run);
  }

  async *stream<P, T>(name: string, run: () => AsyncGenerator<P, T, undefined>): AsyncGenerator<P, T, undefined> {
    const entry = this.#take('stream', name);
    if (!entry) return never();
    if (entry.outcome) return replay<T>(entry.outcome);
    this.#attempt.begin();
    let outcome: Outcome | undefined;
    try {
      outcome = this.#attempt.json(yield* run(), `The result of \`${name}\``);
    } catch (error) {
      outcome = {error};
    } finally {
      // The reader left in the middle: there is no result to record.
      if (!outcome) this.#attempt.leave();
    }
    return this.#attempt.end<T>(entry, outcome);
  }

  async all<T>(thunks: readonly (() => Promise<T>)[], gate: Gate, dropped: (index: number) => T): Promise<T[]> {
    const entry = this.#take('all', 'all');
    if (!entry) return never();
    const {outcome} = entry;
    this.#wave = {entries: entry.wave, seen: new Map()};
    if (!outcome) this.#attempt.beginWave();
    const results = await Promise.all(thunks.map((thunk, index) => gate.run(thunk, () => dropped(index))));
    this.#wave = undefined;
    // Wrapped, since a list in JSON cannot hold `undefined`.
    const again = this.#attempt.json(results.map(wrap), 'The results of `all`');
    if (!outcome) {
      this.#attempt.endWave();
      return (await this.#attempt.end<T[][]>(entry, again)).map(unwrap);
    }
    if (!this.#attempt.over && !sameOutcome(outcome, again)) {
      this.#fail(`the results of \`all\` were ${show(outcome)}, now they are ${show(again)}`);
    }
    return this.#attempt.over ? never() : replay<T[][]>(outcome).map(unwrap);
  }

  async child<T>(name: string, run: (steps: Steps) => Promise<T>): Promise<T> {
    const entry = this.#take('child', name);
    return entry ? run(new ReplaySeam(this.#attempt, entry.journal)) : never();
  }

  now(): number | Promise<number> {
    return this.#value('now', () => Date.now());
  }

  uuid(): string | Promise<string> {
    return this.#value('uuid', () => crypto.randomUUID());
  }

  #value<T>(kind: 'now' | 'uuid', make: () => T): T | Promise<T> {
    const entry = this.#take(kind, kind);
    if (!entry) return never();
    entry.outcome ??= {json: JSON.stringify(make())};
    return replay<T>(entry.outcome);
  }

  /** The place of what the loop asks for; `undefined` if the attempt is over, perhaps just now. */
  #take(kind: EntryKind, name: string): Entry | undefined {
    if (this.#attempt.over) return undefined;
    try {
      return this.#wave ? this.#takeInWave(this.#wave, kind, name) : this.#journal.at(this.#position++, kind, name);
    } catch (error) {
      this.#attempt.fail(error);
      return undefined;
    }
  }

  #takeInWave({entries, seen}: Wave, kind: EntryKind, name: string): Entry {
    if (kind === 'all') throw new ReplayError('REPLAY_DIVERGED', 'A fan-out within a fan-out needs a seam of its own: `child`');
    const count = (seen.get(name) ?? 0) + 1;
    seen.set(name, count);
    const nameless = kind === 'now' || kind === 'uuid';
    if (!nameless && count > 1) {
      throw new ReplayError('REPLAY_DIVERGED', `\`${name}\` stands twice in one fan-out; a replay could not tell which is which`);
    }
    return this.#journal.inWave(entries, kind, nameless ? `${name} ${count}` : name);
  }

  #fail(message: string): void {
    this.#attempt.fail(new ReplayError('REPLAY_DIVERGED', `Replay diverged ${this.#journal.path}: ${message}`));
  }
}

function sameOutcome(left: Outcome, right: Outcome): boolean {
  return 'json' in left && 'json' in right && sameJson(left.json, right.json);
}

function show(outcome: Outcome): string {
  return 'json' in outcome ? JSON.stringify(replay<unknown[][]>(outcome).map(unwrap)) : 'an error';
}

function wrap<T>(result: T): T[] {
  return result === undefined ? [] : [result];
}

function unwrap<T>([result]: readonly T[]): T {
  return result as T;
}
