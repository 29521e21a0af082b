import {ManualClock} from '../manual-clock.ts';
import {OwnedTimers} from './owned-timers.ts';
import type {PromiseJobs} from './promise-jobs.ts';
import {violation} from './schedule-error.ts';
import {Watch} from './watch.ts';

const MOST_TIMERS = 2_000;
const IDLE_TURNS = 20;

/** What one schedule is played in: a clock of its own, turn by turn, each up to the point where nothing is left to do but to let time pass. */
export class World implements Disposable {
  readonly clock: ManualClock = ManualClock.install();
  readonly watch: Watch = new Watch(() => ({ms: this.ms, job: this.jobs.count}));
  readonly timers: OwnedTimers = new OwnedTimers(() => this.watch.inForeign);
  readonly jobs: PromiseJobs;
  /** When timers that fired were due, in the time of `ms`. */
  readonly dueMs: number[] = [];

  /** Called after each turn. */
  onTurn: () => void = () => {};
  #idle = 0;
  #startMs = 0;

  constructor(jobs: PromiseJobs) {
    this.jobs = jobs;
  }

  /** Virtual time since the scenario was ready. */
  get ms(): number {
    return this.clock.nowMs - this.#startMs;
  }

  /** Builds a scenario. Time passes for what is run in it, and counts anew when it is ready. */
  async build<T>(factory: () => T | PromiseLike<T>): Promise<T> {
    const built = this.watch.foreign(async () => factory());
    const state = stateOf(built);
    await this.turn(() => {});
    // What takes real time, such as a module that is loaded, is no timer: there is no telling when to give up.
    while (!state.settled) if (!(await this.timer())) await this.turn(() => {});
    this.#startMs = this.clock.nowMs;
    this.dueMs.length = 0;
    this.watch.landmarks.length = 0;
    return built;
  }

  /** One turn of the event loop. */
  async turn(action: () => void): Promise<void> {
    this.watch.turn++;
    await this.jobs.turn(action);
    this.onTurn();
  }

  /** A turn in which the next timer fires; `false` if there is none. */
  async timer(): Promise<boolean> {
    const [next] = this.clock.pending;
    if (!next) return false;
    if (this.dueMs.length >= MOST_TIMERS) violation('hangs', `${MOST_TIMERS} timers have fired, and it still goes on`);
    this.dueMs.push(next.dueMs - this.#startMs);
    await this.turn(() => {
      this.clock.advanceToNext();
      this.watch.landmark(`timer ${this.dueMs.length}`);
    });
    return true;
  }

  /** Lets time pass once: a timer, or, where there is none, a turn for what is no timer. Throws where that leads nowhere. */
  async pass(what: string): Promise<void> {
    if (await this.timer()) this.#idle = 0;
    else if (this.#idle++ < IDLE_TURNS) await this.turn(() => {});
    else violation('hangs', `nothing is left to wait for, but not ${what}`);
  }

  /** Lets time pass until a promise has settled. */
  async settle<T>(promise: Promise<T>, what: string): Promise<T> {
    const state = stateOf(promise);
    await this.turn(() => {});
    while (!state.settled) await this.pass(what);
    return promise;
  }

  [Symbol.dispose](): void {
    this.timers[Symbol.dispose]();
    this.clock.uninstall();
  }
}

function stateOf(promise: Promise<unknown>): {readonly settled: boolean} {
  const state = {settled: false};
  const note = (): void => void (state.settled = true);
  promise.then(note, note);
  return state;
}
