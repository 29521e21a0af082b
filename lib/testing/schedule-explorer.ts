import {InvalidOptionError} from '../errors.ts';
import {candidates, MODES, placesOf, type RunMode, type Places} from './schedule-explorer/candidates.ts';
import {checkAfter} from './schedule-explorer/check-after.ts';
import {checkEnd} from './schedule-explorer/check-end.ts';
import {checkSession} from './schedule-explorer/check-session.ts';
import {checkStop} from './schedule-explorer/check-stop.ts';
import {Drive} from './schedule-explorer/drive.ts';
import {naturalEnd, type NaturalEnd} from './schedule-explorer/expected-ends.ts';
import {loadLazyEntries} from './schedule-explorer/lazy-entries.ts';
import type {Observed} from './schedule-explorer/observed.ts';
import {PromiseJobs} from './schedule-explorer/promise-jobs.ts';
import {playRandom} from './schedule-explorer/random-schedules.ts';
import type {ScenarioFactory} from './schedule-explorer/scenario.ts';
import {kindOf, STOP_KINDS, type Schedule, type StopKind} from './schedule-explorer/schedule.ts';
import {ScheduleError, Violation} from './schedule-explorer/schedule-error.ts';
import {World} from './schedule-explorer/world.ts';

/** What to explore, and how far. */
export interface ScheduleExplorerOptions {
  /** Builds what is run, anew for each schedule. */
  readonly scenario: ScenarioFactory;
  /** Ways to stop. Default: all. */
  readonly kinds?: readonly StopKind[] | undefined;
  /** Tool and streaming modes. Default: PARALLEL and SEQUENTIAL, each without streaming and with SSE. */
  readonly modes?: readonly RunMode[] | undefined;
  /** How many schedules of one stop to play at most; of more, an even choice. Default 2,000. */
  readonly maxSchedules?: number | undefined;
  /** How many drawn schedules of several stops to play besides. Default 200; they need the package `fast-check`, 0 does not. */
  readonly randomSchedules?: number | undefined;
  /** What the drawing starts from. Default 1. */
  readonly seed?: number | undefined;
}

/** What was explored without finding a fault. */
export interface ScheduleReport {
  readonly schedules: number;
  /** By kind of stop, `none` for runs that were left alone; combined ones as `abort + return`. */
  readonly byKind: Readonly<Record<string, number>>;
  /** How many schedules of one stop there are; `maxSchedules` may have been fewer. */
  readonly possible: number;
}

/**
 * Stops a run at every moment at which it can be stopped, and checks each time that it kept its whole contract: between any two promise
 * jobs, inside every call of a model, tool, hook or store, while the reader is idle, in every mode, by every kind of stop. Time is virtual:
 * when nothing is left to do, the next timer fires.
 *
 * The scenario is watched from outside; agents, models, tools and stores need no change. It must not do real I/O, and must do the same each
 * time. One explorer runs at a time in a process, since it stands in for the clock. It needs Node: it counts V8's promise jobs.
 *
 * @example
 * ```ts
 * import {FunctionTool, InMemoryRunner, LlmAgent} from 'sluice';
 * import {ScheduleExplorer, ScriptedLlm, functionCalls} from 'sluice/testing';
 *
 * const explorer = new ScheduleExplorer({
 *   scenario: async () => {
 *     const getTime = new FunctionTool({name: 'get_time', description: 'The time.', execute: () => 'noon'});
 *     const model = new ScriptedLlm({steps: [functionCalls({name: 'get_time'}), 'It is noon.']});
 *     const runner = new InMemoryRunner({agent: new LlmAgent({name: 'clock', model, tools: [getTime]})});
 *     const session = await runner.sessionService.createSession({appName: runner.appName, userId: 'u'});
 *     const newMessage = {role: 'user', parts: [{text: 'What time is it?'}]};
 *     return {runner, request: {userId: 'u', sessionId: session.id, newMessage}};
 *   },
 *   maxSchedules: 200,
 * });
 * const {schedules, byKind} = await explorer.explore();
 * console.log(schedules, byKind);
 * ```
 */
export class ScheduleExplorer {
  readonly #scenario: ScenarioFactory;
  readonly #kinds: readonly StopKind[];
  readonly #modes: readonly RunMode[];
  readonly #maxSchedules: number;
  readonly #randomSchedules: number;
  readonly #seed: number;
  readonly #natural = new Map<string, NaturalEnd>();
  readonly #used = new WeakSet<object>();
  readonly #byKind: Record<string, number> = {};
  #schedules = 0;

  /** @throws {@link InvalidOptionError} for an option that cannot be used */
  constructor(options: ScheduleExplorerOptions) {
    const {scenario, kinds = STOP_KINDS, modes = MODES, maxSchedules = 2_000, randomSchedules = 200, seed = 1} = options;
    if (typeof scenario !== 'function') throw new InvalidOptionError('scenario', 'a function that builds a scenario', scenario);
    for (const kind of kinds)
      if (!STOP_KINDS.includes(kind)) throw new InvalidOptionError('kinds', `some of ${STOP_KINDS.join(', ')}`, kind);
    for (const [name, value] of Object.entries({maxSchedules, randomSchedules, seed})) {
      if (!Number.isInteger(value) || value < 0) throw new InvalidOptionError(name, 'a whole number from 0', value);
    }
    this.#scenario = scenario;
    this.#kinds = kinds;
    this.#modes = modes;
    this.#maxSchedules = maxSchedules;
    this.#randomSchedules = randomSchedules;
    this.#seed = seed;
  }

  /**
   * Plays the schedules.
   *
   * @throws {@link ScheduleError} for the first that broke the contract: the earliest moment, or, of the drawn ones, the smallest
   */
  async explore(): Promise<ScheduleReport> {
    await loadLazyEntries();
    using jobs = new PromiseJobs();
    const play = async (schedule: Schedule): Promise<void> => void (await this.#play(jobs, schedule));
    const places: Places[] = [];
    for (const mode of this.#modes) places.push(await this.#scout(jobs, mode));
    const all = places.flatMap((place) => candidates(place, this.#kinds));
    for (const schedule of evenly(all, this.#maxSchedules)) await play(schedule);
    if (this.#randomSchedules > 0) {
      await playRandom({places, kinds: this.#kinds, count: this.#randomSchedules, seed: this.#seed, play});
    }
    return {schedules: this.#schedules, byKind: {...this.#byKind}, possible: all.length};
  }

  /**
   * Plays one schedule, such as that of a {@link ScheduleError}; resolves to the landmarks that it passed.
   *
   * @throws {@link ScheduleError} where it breaks the contract
   */
  async replay(schedule: Schedule): Promise<readonly string[]> {
    await loadLazyEntries();
    using jobs = new PromiseJobs();
    const {toolExecutionMode, streamingMode} = schedule;
    // How the run ends by itself is what the schedule is judged by.
    if (!this.#natural.has(keyOf(schedule))) await this.#play(jobs, {toolExecutionMode, streamingMode, stops: []});
    return (await this.#play(jobs, schedule)).watch.landmarks;
  }

  /** Plays a mode without a stop, once for a reader that reads on, and once for each pause. */
  async #scout(jobs: PromiseJobs, mode: RunMode): Promise<Places> {
    const busy = await this.#play(jobs, {...mode, stops: []});
    const idle: Observed[] = [];
    for (let pauseAfter = 1; pauseAfter <= busy.reader.events.length; pauseAfter++) {
      idle.push(await this.#play(jobs, {...mode, stops: [], pauseAfter}));
    }
    return placesOf(mode, busy, idle);
  }

  async #play(jobs: PromiseJobs, schedule: Schedule): Promise<Observed> {
    const world = new World(jobs);
    try {
      const scenario = await world.build(() => this.#scenario({landmark: (name) => world.watch.numbered(name)}));
      if (this.#used.has(scenario.runner)) {
        throw new InvalidOptionError('scenario', 'a function that builds everything anew', 'the runner of an earlier schedule');
      }
      this.#used.add(scenario.runner);
      const observed = await new Drive(world, schedule, scenario).play();
      this.#check(observed);
      this.#schedules++;
      const kind = kindOf(schedule);
      this.#byKind[kind] = (this.#byKind[kind] ?? 0) + 1;
      return observed;
    } catch (error) {
      throw error instanceof Violation ? new ScheduleError(schedule, error, world.watch.landmarks) : error;
    } finally {
      world[Symbol.dispose]();
    }
  }

  #check(observed: Observed): void {
    const {schedule} = observed;
    const natural = this.#natural.get(keyOf(schedule));
    checkEnd(observed, natural);
    checkStop(observed);
    checkSession(observed);
    checkAfter(observed);
    if (!natural && kindOf(schedule) === 'none') this.#natural.set(keyOf(schedule), naturalEnd(observed));
  }
}

function keyOf({toolExecutionMode, streamingMode}: RunMode): string {
  return `${toolExecutionMode} ${streamingMode}`;
}

/** So many of a list, one out of each of as many equal stretches; where in its stretch differs, or it would be the same kind of stop each time. */
function evenly<T>(list: readonly T[], count: number): readonly T[] {
  if (list.length <= count) return list;
  const goldenRatio = (Math.sqrt(5) - 1) / 2;
  return Array.from({length: count}, (_, at) => list[Math.floor(((at + ((at * goldenRatio) % 1)) * list.length) / count)] as T);
}
