import {getEventListeners} from 'node:events';
import process from 'node:process';
import {InvalidOptionError} from '../../errors.ts';
import type {Event} from '../../events/event.ts';
import type {Run} from '../../runner/run.ts';
import type {RunOutcome} from '../../runner/run-outcome.ts';
import type {RunRequest} from '../../runner/run-request.ts';
import {collect, type Collected} from '../collect.ts';
import {fire, type FiredStop} from './fire.ts';
import type {Limits, Observed} from './observed.ts';
import {pairingFlaw} from './pairing.ts';
import {Patches} from './patches.ts';
import {probe} from './probe.ts';
import {Reader} from './reader.ts';
import type {Scenario} from './scenario.ts';
import type {Schedule, Stop} from './schedule.ts';
import type {Instant, WatchedCall} from './watch.ts';
import type {World} from './world.ts';

/** Plays one schedule on one scenario, to the end and beyond. */
export class Drive {
  readonly #world: World;
  readonly #schedule: Schedule;
  readonly #scenario: Scenario;
  readonly #limits: Limits;
  readonly #controller = new AbortController();
  readonly #run: Run;
  readonly #reader: Reader;
  readonly #pending: Set<Stop>;
  /** Stops whose landmark was reached, and the job after which they are due. */
  readonly #armed = new Map<Stop, number>();
  readonly #fired: FiredStop[] = [];
  readonly #reached: [landmark: string, job: number][] = [];
  readonly #jobsAfter = new Map<string, number>();
  readonly #held = {idle: 0, waiting: 0};
  readonly #companions: Promise<Collected<Event, RunOutcome>>[] = [];
  #started: Instant | undefined;
  #settled: {readonly at: Instant; readonly outcome: RunOutcome} | undefined;
  #settledAlone = true;

  constructor(world: World, schedule: Schedule, scenario: Scenario) {
    const {watch} = world;
    this.#world = world;
    this.#schedule = schedule;
    this.#scenario = scenario;
    const {abortGraceMs = 250, closeTimeoutMs = 1_000, timeoutMs} = scenario.request.runConfig ?? {};
    this.#limits = {abortGraceMs, closeTimeoutMs};
    const {toolExecutionMode, streamingMode, stops, pauseAfter = Infinity, pulls = 1, deadlineMs = timeoutMs} = schedule;
    const runConfig = {...scenario.request.runConfig, ...this.#limits, toolExecutionMode, streamingMode, timeoutMs: deadlineMs};
    const request: RunRequest = {...scenario.request, runConfig, abortSignal: this.#controller.signal};
    this.#run = watch.as('run', () => scenario.runner.runAsync(request));
    this.#reader = new Reader({run: this.#run, watch, pauseAfter, pulls});
    this.#pending = new Set(stops);
    watch.onLandmark = (name) => this.#reach(name);
    world.jobs.onJob = () => this.#fireDue(world.jobs.count);
    void this.#run.settled.then((outcome) => (this.#settled = {at: watch.instant(), outcome}));
  }

  async play(): Promise<Observed> {
    const {runner, earlier = [], later = []} = this.#scenario;
    using patches = new Patches(this.#world.watch);
    const getSession = runner.sessionService.getSession.bind(runner.sessionService);
    for (const agent of [runner.agent, ...(this.#scenario.agents ?? [])]) patches.agent(agent);
    patches.store(runner.sessionService);
    const rejections: unknown[] = [];
    const note = (reason: unknown): void => void rejections.push(reason);
    process.on('unhandledRejection', note);
    try {
      if (earlier.length > 0) await this.#turn(() => this.#accompany(earlier));
      await this.#turn(() => this.#world.watch.landmark('created'));
      await this.#turn(() => this.#start(later));
      while (!this.#isOver()) await this.#goOn();
      return await this.#lookAround(getSession, rejections);
    } finally {
      process.off('unhandledRejection', note);
    }
  }

  #start(later: readonly RunRequest[]): void {
    const {watch} = this.#world;
    this.#started = watch.instant();
    void watch.as('reader', () => this.#reader.read());
    this.#accompany(later);
    watch.landmark('start');
  }

  #accompany(requests: readonly RunRequest[]): void {
    for (const request of requests) {
      const companion = this.#world.watch.as('companion', () => collect(this.#scenario.runner.runAsync(request)));
      this.#companions.push(companion);
      void companion.then(() => (this.#companionsOver++));
    }
  }
  #companionsOver = 0;

  #isOver(): boolean {
    const answered = this.#fired.every(({answers, result}) => !answers || result);
    return this.#armed.size === 0 && this.#reader.over && answered && this.#settled !== undefined && this.#companionsOver === this.#companions.length;
  }

  /** The next turn: a stop that is due, the reader that asks again, or a timer. */
  async #goOn(): Promise<void> {
    const world = this.#world;
    if (this.#armed.size > 0) return this.#turn(() => this.#fireDue(Infinity));
    if (this.#reader.paused && !this.#waitsPaused()) {
      if (!this.#settled) this.#settledAlone = false;
      return this.#turn(() => world.watch.as('reader', () => this.#reader.resume()));
    }
    let turns = 0;
    await world.until(() => turns++ > 0, '');
    this.#note();
  }
}
