import type {FiredStop} from './fire.ts';
import type {PromiseJobs} from './promise-jobs.ts';
import type {ScheduledStop} from './schedule.ts';

/** Carries the stops of a schedule out, each so many promise jobs after its landmark. */
export class PlannedStops {
  readonly fired: FiredStop[] = [];
  /** Jobs from each landmark to the end of its turn. */
  readonly jobsAfter: Map<string, number> = new Map<string, number>();
  readonly #jobs: PromiseJobs;
  readonly #fire: (stop: ScheduledStop) => FiredStop;
  readonly #waiting: Set<ScheduledStop>;
  /** Those whose landmark was reached, and the job after which they are due. */
  readonly #due = new Map<ScheduledStop, number>();
  readonly #reached: [landmark: string, job: number][] = [];

  constructor(stops: readonly ScheduledStop[], jobs: PromiseJobs, fire: (stop: ScheduledStop) => FiredStop) {
    this.#waiting = new Set(stops);
    this.#jobs = jobs;
    this.#fire = fire;
    jobs.onJob = () => this.#fireDue(jobs.count);
  }

  /** Whether one is due, in a turn that has ended before it came to that job. */
  get overdue(): boolean {
    return this.#due.size > 0;
  }

  /** Whether a run that was under way has been stopped. */
  get haveStopped(): boolean {
    return this.fired.some(({stop, phase}) => phase === 'running' && stop.kind !== 'break');
  }

  /** Whether one waits for a timer to fire. */
  get waitForTimer(): boolean {
    return [...this.#waiting].some(({after}) => after.startsWith('timer '));
  }

  reach(landmark: string): void {
    const job = this.#jobs.count;
    this.#reached.push([landmark, job]);
    for (const stop of this.#waiting) {
      if (stop.after !== landmark) continue;
      this.#waiting.delete(stop);
      if (stop.jobs === 0) this.fired.push(this.#fire(stop));
      else this.#due.set(stop, job + stop.jobs);
    }
  }

  /** Carries out what is due, whether its job has come or not. */
  fireOverdue(): void {
    this.#fireDue(Infinity);
  }

  endTurn(): void {
    for (const [landmark, job] of this.#reached.splice(0)) this.jobsAfter.set(landmark, this.#jobs.count - job);
  }

  /** The run is over: what has not been reached is dropped. */
  close(): void {
    this.#waiting.clear();
    this.#jobs.onJob = () => {};
  }

  #fireDue(job: number): void {
    for (const [stop, due] of this.#due) {
      if (due > job) continue;
      this.#due.delete(stop);
      this.fired.push(this.#fire(stop));
    }
  }
}
