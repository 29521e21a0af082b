import {getEventListeners} from 'node:events';
import process from 'node:process';
import type {Event} from '../../events/event.ts';
import type {Run} from '../../runner/run.ts';
import type {RunOutcome} from '../../runner/run-outcome.ts';
import type {RunRequest} from '../../runner/run-request.ts';
import type {BaseSessionService} from '../../sessions/base-session-service.ts';
import {collect, type Collected} from '../collect.ts';
import {fire, type FiredStop} from './fire.ts';
import {lookAround} from './look-around.ts';
import type {Limits, Observed} from './observed.ts';
import {pairingFlaw} from './pairing.ts';
import {Patches} from './patches.ts';
import {PlannedStops} from './planned-stops.ts';
import {Reader} from './reader.ts';
import type {Scenario} from './scenario.ts';
import type {Schedule, ScheduledStop} from './schedule.ts';
import {violation} from './schedule-error.ts';
import type {Watch} from './watch.ts';
import type {Instant} from './watched-call.ts';
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
  readonly #stops: PlannedStops;
  readonly #held = {idle: 0, waiting: 0};
  readonly #companions: Collected<Event, RunOutcome>[] = [];
  #accompanied = 0;
  #settled: {readonly at: Instant; readonly outcome: RunOutcome} | undefined;
  #settledAlone = true;

  constructor(world: World, schedule: Schedule, scenario: Scenario) {
    const {watch} = world;
    this.#world = world;
    this.#schedule = schedule;
    this.#scenario = scenario;
    const {toolExecutionMode, streamingMode, stops, pauseAfter = Infinity, pulls = 1, deadlineMs} = schedule;
    const {abortGraceMs = 250, closeTimeoutMs = 1_000, timeoutMs = 600_000} = scenario.request.runConfig ?? {};
    this.#limits = {abortGraceMs, closeTimeoutMs, timeoutMs: deadlineMs ?? timeoutMs};
    // The watch of the event loop has a timer that goes on and on; here timers fire at once, one after the other.
    const runConfig = {...scenario.request.runConfig, ...this.#limits, toolExecutionMode, streamingMode, blockedLoopMs: Infinity};
    const request: RunRequest = {...scenario.request, runConfig, abortSignal: this.#controller.signal};
    this.#run = watch.as('run', () => scenario.runner.runAsync(request));
    this.#reader = new Reader({run: this.#run, watch, pauseAfter, pulls});
    this.#stops = new PlannedStops(stops, world.jobs, (stop) => this.#fire(stop));
    watch.onLandmark = (name) => this.#stops.reach(name);
    world.onTurn = () => this.#note();
    void this.#run.settled.then((outcome) => (this.#settled = {at: watch.instant(), outcome}));
  }

  async play(): Promise<Observed> {
    const {watch} = this.#world;
    const {runner, agents = [], plugins = [], earlier = [], later = []} = this.#scenario;
    const getSession = runner.sessionService.getSession.bind(runner.sessionService);
    using patches = new Patches(watch);
    for (const agent of [runner.agent, ...agents]) patches.agent(agent);
    for (const plugin of plugins) patches.plugin(plugin);
    patches.store(runner.sessionService);
    const rejections: unknown[] = [];
    const note = (reason: unknown): void => void rejections.push(reason);
    process.on('unhandledRejection', note);
    try {
      if (earlier.length > 0) await this.#world.turn(() => this.#accompany(earlier));
      await this.#world.turn(() => watch.landmark('created'));
      await this.#world.turn(() => this.#start(later));
      while (!this.#isOver()) {
        if (this.#reader.gaveUp) violation('hangs', 'there is no end to the Events');
        await this.#goOn();
      }
      return await this.#report(getSession, rejections);
    } finally {
      process.off('unhandledRejection', note);
    }
  }

  #start(later: readonly RunRequest[]): void {
    const {watch} = this.#world;
    void watch.as('reader', () => this.#reader.read());
    this.#accompany(later);
    watch.landmark('start');
  }

  #accompany(requests: readonly RunRequest[]): void {
    for (const request of requests) {
      const companion = this.#world.watch.as('companion', () => collect(this.#scenario.runner.runAsync(request)));
      void companion.then((collected) => this.#companions.push(collected));
      this.#accompanied++;
    }
  }

  #isOver(): boolean {
    const answered = this.#stops.fired.every(({answers, result}) => !answers || result);
    const isAlone = this.#companions.length === this.#accompanied;
    return !this.#stops.overdue && this.#reader.over && answered && this.#settled !== undefined && isAlone;
  }

  /** The next turn: stops that are due, the reader that asks again, or time that passes. */
  async #goOn(): Promise<void> {
    const {watch} = this.#world;
    if (this.#stops.overdue) await this.#world.turn(() => this.#stops.fireOverdue());
    else if (this.#reader.paused && !this.#waitsPaused()) {
      this.#settledAlone &&= this.#settled !== undefined || !this.#stops.haveStopped;
      await this.#world.turn(() => watch.as('reader', () => this.#reader.resume()));
    } else await this.#world.pass(this.#settled ? 'the end of `next()` or of the stop' : '`settled`');
  }

  /** Whether time is to pass before a reader that is idle asks again. */
  #waitsPaused(): boolean {
    const {clock, timers} = this.#world;
    if (this.#settled || clock.pending.length === 0) return false;
    if (this.#schedule.deadlineMs !== undefined || this.#stops.haveStopped) return true;
    return this.#stops.waitForTimer && clock.pending.length > timers.count;
  }

  #fire(stop: ScheduledStop): FiredStop {
    const {runner, request} = this.#scenario;
    const {watch} = this.#world;
    const {userId, sessionId} = request;
    const open = (): string | undefined => openWrites(watch, this.#run.invocationId);
    return fire(stop, {runner, run: this.#run, reader: this.#reader, controller: this.#controller, userId, sessionId, watch, open});
  }

  async #report(getSession: BaseSessionService['getSession'], rejections: readonly unknown[]): Promise<Observed> {
    const world = this.#world;
    if (!this.#settled) throw new TypeError('The run has not settled');
    this.#stops.close();
    const left = {timers: world.timers.count, listeners: getEventListeners(this.#controller.signal, 'abort').length};
    return {
      ...(await lookAround(world, this.#scenario, this.#run, getSession)),
      schedule: this.#schedule,
      scenario: this.#scenario,
      limits: this.#limits,
      watch: world.watch,
      reader: this.#reader,
      run: this.#run,
      stops: this.#stops.fired,
      outcome: this.#settled.outcome,
      settled: this.#settled.at,
      settledAlone: this.#settledAlone,
      companions: this.#companions,
      left,
      held: this.#held,
      rejections,
      jobsAfter: this.#stops.jobsAfter,
      dueMs: world.dueMs,
    };
  }

  /** What there is to see between two turns. */
  #note(): void {
    const {timers} = this.#world;
    this.#stops.endTurn();
    if (this.#settled || this.#accompanied > 0) return;
    if (this.#reader.pulling > 0) this.#held.waiting = Math.max(this.#held.waiting, timers.count - timers.holding);
    else if (this.#stops.fired.length === 0 && !this.#isOverdue()) this.#held.idle = Math.max(this.#held.idle, timers.holding);
  }

  #isOverdue(): boolean {
    return this.#world.ms - (this.#reader.asked?.ms ?? Infinity) >= this.#limits.timeoutMs;
  }
}

/** What the session still lacks, as far as a run has written to it; `undefined` if nothing. */
function openWrites(watch: Watch, invocationId: string): string | undefined {
  const writes = watch.calls.filter(({name, event}) => name === 'appendEvent' && event?.invocationId === invocationId);
  if (writes.some(({ended}) => !ended)) return 'a write is under way';
  const written = writes.flatMap(({event, outcome}) => (event && outcome && 'value' in outcome ? event : []));
  return pairingFlaw([...(writes[0]?.before ?? []), ...written]);
}
