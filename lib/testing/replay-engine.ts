import {InvalidOptionError} from '../errors.ts';
import {isRecord} from '../schema/is-record.ts';
import type {StepEngine, Steps} from '../steps/steps.ts';
import {ReplayAttempt} from './replay-attempt.ts';
import {Journal, plainJson, sameJson} from './replay-journal.ts';
import {ReplaySeam} from './replay-seam.ts';
import {ReplayError} from './testing-errors.ts';

/** When a `ReplayEngine` crashes. */
export interface ReplayEngineOptions {
  /**
   * Asked after every fresh record: crash now? Default: always. A stop cannot be replayed, since no record says when it came, so a test
   * that stops a run ends the crashes with it: `crash: () => !stop.signal.aborted`.
   */
  readonly crash?: (() => boolean) | undefined;
}

/**
 * A double for a durable engine: it crashes a loop after every step and starts it anew from what was recorded, until the loop has
 * arrived at its end. What survives that keeps nothing between steps that a crash could lose.
 *
 * - A result is recorded under its place and name as JSON, and the loop only ever sees the copy. One that is more than JSON can hold is a
 *   {@link ReplayError}; `undefined` stays; a thrown error is recorded and thrown again, the very object.
 * - A crash settles nothing and runs no `finally`: what the attempt waits for just never comes. What `stream` yields is passed on in the
 *   attempt that runs it, and not repeated.
 * - Steps inside `all` are recorded by name; the whole fan-out ends, then comes one crash. The thunks run again in a replay, and must come
 *   to the same. `now` and `uuid` are recorded without a crash. A branch (`child`) runs again, fed from its own records.
 * - What the loop yields again is compared and not delivered twice. A difference there, or in a step's place or name, is a
 *   {@link ReplayError} that names both, thrown by `next()` whatever the loop catches.
 *
 * A reader that leaves ends the crashes too: `return()` goes through to the loop, which cleans up undisturbed.
 */
export class ReplayEngine implements StepEngine {
  readonly #crash: () => boolean;
  readonly #recorded: string[] = [];
  #attempts = 0;

  constructor({crash = () => true}: ReplayEngineOptions = {}) {
    if (typeof crash !== 'function') throw new InvalidOptionError('crash', 'a function', crash);
    this.#crash = crash;
  }

  /** How often a loop was started: once, and once more for each crash. */
  get attempts(): number {
    return this.#attempts;
  }

  /** The names of all steps that really ran, in the order of their records. */
  get recorded(): readonly string[] {
    return this.#recorded;
  }

  async *drive<E>(loop: (steps: Steps) => AsyncGenerator<E, void, undefined>): AsyncGenerator<E, void, undefined> {
    const journal = new Journal('');
    const delivered: (string | undefined)[] = [];
    for (;;) {
      this.#attempts++;
      const attempt = new ReplayAttempt({crash: this.#crash, recorded: (name) => this.#recorded.push(name)});
      const ended = yield* follow(attempt, loop(new ReplaySeam(attempt, journal)), delivered);
      if (ended) return;
    }
  }
}

/** Reads one attempt, passing on what is new; `false` if it crashed. */
async function* follow<E>(
  attempt: ReplayAttempt,
  events: AsyncGenerator<E, void, undefined>,
  delivered: (string | undefined)[],
): AsyncGenerator<E, boolean, undefined> {
  let replayed = 0;
  let parked = false;
  let pull = (): Promise<IteratorResult<E, void>> => events.next();
  try {
    for (;;) {
      const next = await attempt.next(pull).catch((error: unknown) => {
        throw replayed < delivered.length ? diverged(replayed, delivered[replayed], 'an error', {cause: error}) : error;
      });
      attempt.throwIfFailed();
      // An attempt may crash by what it does in the background, right after it has yielded: then the yield is lost with it.
      if (next === undefined || attempt.over) return false;
      if (next.done) {
        if (replayed < delivered.length) throw diverged(replayed, delivered[replayed], 'the end');
        return true;
      }
      pull = () => events.next();
      if (!(attempt.working && isPiece(next.value)) && isReplay(next.value, replayed++, delivered)) continue;
      parked = true;
      try {
        yield next.value;
      } catch (error) {
        pull = () => events.throw(error);
      }
      parked = false;
    }
  } finally {
    if (parked && !attempt.over) {
      attempt.spare();
      await events.return(undefined);
    }
  }
}

/** Whether it is not a whole Event: such a one is delivered for good, also where a branch beside it is at work. */
function isPiece(value: unknown): boolean {
  return !(isRecord(value) && 'invocationId' in value && value['partial'] !== true);
}

/** Whether the event was delivered before; if not, it is now. */
function isReplay(event: unknown, position: number, delivered: (string | undefined)[]): boolean {
  const json = plainJson(event, `Event ${position}`);
  if (position >= delivered.length) {
    delivered.push(json);
    return false;
  }
  if (!sameJson(delivered[position], json)) throw diverged(position, delivered[position], String(json));
  return true;
}

function diverged(position: number, before: string | undefined, now: string, options?: ErrorOptions): ReplayError {
  return new ReplayError('REPLAY_DIVERGED', `Replay diverged at event ${position}: it was ${before}, now it is ${now}`, options);
}
