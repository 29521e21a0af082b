import {getEventListeners} from 'node:events';
import process from 'node:process';
import {getFunctionCalls, type Event} from '../../events/event.ts';
import type {Run} from '../../runner/run.ts';
import type {RunOutcome} from '../../runner/run-outcome.ts';
import type {RunRequest} from '../../runner/run-request.ts';
import type {BaseSessionService} from '../../sessions/base-session-service.ts';
import {collect, type Collected} from '../collect.ts';
import {fire, type FiredStop} from './fire.ts';
import type {Limits, Observed} from './observed.ts';
import {pairingFlaw} from './pairing.ts';
import {Patches} from './patches.ts';
import {probe} from './probe.ts';
import {Reader} from './reader.ts';
import type {Scenario} from './scenario.ts';
import type {Schedule, Stop} from './schedule.ts';
import {violation} from './schedule-error.ts';
import type {Instant, Watch} from './watch.ts';
import type {World} from './world.ts';

/** How long what was left behind is followed after the end. */
const LATE_MS = 3_600_000;
const LATE_TIMERS = 200;

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
    const runConfig = {...scenario.request.runConfig, ...this.#limits, toolExecutionMode, streamingMode};
    const request: RunRequest = {...scenario.request, runConfig, abortSignal: this.#controller.signal};
    this.#run = watch.as('run', () => scenario.runner.runAsync(request));
    this.#reader = new Reader({run: this.#run, watch, pauseAfter, pulls});
    this.#pending = new Set(stops);
    watch.onLandmark = (name) => this.#reach(name);
    world.jobs.onJob = () => this.#fireDue(world.jobs.count);
    world.onTurn = () => this.#note();
    void this.#run.settled.then((outcome) => (this.#settled = {at: watch.instant(), outcome}));
  }

  async play(): Promise<Observed> {
    const {watch} = this.#world;
    const {runner, agents = [], earlier = [], later = []} = this.#scenario;
    const getSession = runner.sessionService.getSession.bind(runner.sessionService);
    using patches = new Patches(watch);
    for (const agent of [runner.agent, ...agents]) patches.agent(agent);
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
      return await this.#lookAround(getSession, rejections);
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
    const answered = this.#fired.every(({answers, result}) => !answers || result);
    return this.#armed.size === 0 && this.#reader.over && answered && this.#settled !== undefined && this.#companions.length === this.#accompanied;
  }

  /** The next turn: stops that are due, the reader that asks again, or time that passes. */
  async #goOn(): Promise<void> {
    const {watch} = this.#world;
    if (this.#armed.size > 0) await this.#world.turn(() => this.#fireDue(Infinity));
    else if (this.#reader.paused && !this.#waitsPaused()) {
      this.#settledAlone &&= this.#settled !== undefined || !this.#isStopped();
      await this.#world.turn(() => watch.as('reader', () => this.#reader.resume()));
    } else await this.#world.pass(this.#settled ? 'the end of `next()` or of the stop' : '`settled`');
  }

  /** Whether time is to pass before a reader that is idle asks again. */
  #waitsPaused(): boolean {
    const {clock, timers} = this.#world;
    if (this.#settled || clock.pending.length === 0) return false;
    if (this.#schedule.deadlineMs !== undefined) return true;
    if (this.#isStopped()) return true;
    return [...this.#pending].some(({after}) => after.startsWith('timer')) && clock.pending.length > timers.count;
  }

  #isStopped(): boolean {
    return this.#fired.some(({stop, phase}) => phase === 'running' && stop.kind !== 'break');
  }

  #reach(landmark: string): void {
    const job = this.#world.jobs.count;
    this.#reached.push([landmark, job]);
    for (const stop of this.#pending) {
      if (stop.after !== landmark) continue;
      this.#pending.delete(stop);
      if (stop.jobs === 0) this.#fire(stop);
      else this.#armed.set(stop, job + stop.jobs);
    }
  }

  #fireDue(job: number): void {
    for (const [stop, due] of this.#armed) {
      if (due > job) continue;
      this.#armed.delete(stop);
      this.#fire(stop);
    }
  }

  #fire(stop: Stop): void {
    const {userId, sessionId} = this.#scenario.request;
    const {watch} = this.#world;
    const target = {runner: this.#scenario.runner, run: this.#run, reader: this.#reader, controller: this.#controller, userId, sessionId, watch};
    this.#fired.push(fire(stop, {...target, open: () => openWrites(watch, this.#run.invocationId)}));
  }

  /** What there is to see between two turns. */
  #note(): void {
    const {jobs, timers} = this.#world;
    for (const [landmark, job] of this.#reached.splice(0)) this.#jobsAfter.set(landmark, jobs.count - job);
    if (this.#settled || this.#accompanied > 0) return;
    if (this.#reader.pulling > 0) this.#held.waiting = Math.max(this.#held.waiting, timers.count - timers.holding);
    else if (this.#fired.length === 0 && !this.#isOverdue()) this.#held.idle = Math.max(this.#held.idle, timers.holding);
  }

  #isOverdue(): boolean {
    return this.#world.clock.nowMs - (this.#reader.asked?.ms ?? Infinity) >= this.#limits.timeoutMs;
  }

  async #lookAround(getSession: BaseSessionService['getSession'], rejections: unknown[]): Promise<Observed> {
    const world = this.#world;
    const {watch, clock} = world;
    const {request, runner, release} = this.#scenario;
    if (!this.#settled) throw new TypeError('The run has not settled');
    const left = {timers: world.timers.count, listeners: getEventListeners(this.#controller.signal, 'abort').length};
    const again = [await this.#again(), await this.#again()];
    const key = {appName: runner.appName, userId: request.userId, sessionId: request.sessionId};
    const read = async (): Promise<readonly Event[]> => (await world.settle(getSession(key), '`getSession`'))?.events ?? [];
    const events = await read();
    const caller = events.findLast((event) => getFunctionCalls(event).length > 0)?.author ?? 'user';
    const from = watch.instant();
    const next = await world.settle(
      watch.as('probe', () => probe(this.#scenario, caller)),
      'the end of a next run',
    );
    const to = watch.instant();
    watch.foreign(() => release?.());
    const until = clock.nowMs + LATE_MS;
    for (let timers = 0; timers < LATE_TIMERS && (clock.pending[0]?.dueMs ?? Infinity) < until; timers++) await world.timer();
    await world.turn(() => {});
    return {
      schedule: this.#schedule,
      scenario: this.#scenario,
      limits: this.#limits,
      watch,
      reader: this.#reader,
      run: this.#run,
      stops: this.#fired,
      outcome: this.#settled.outcome,
      settled: this.#settled.at,
      settledAlone: this.#settledAlone,
      companions: this.#companions,
      left,
      held: this.#held,
      again,
      events,
      probe: next,
      probed: {from, to},
      lateEvents: await read(),
      rejections,
      jobsAfter: this.#jobsAfter,
      dueMs: world.dueMs,
    };
  }

  #again(): Promise<IteratorResult<Event, void>> {
    const {watch} = this.#world;
    return this.#world.settle(
      watch.as('reader', () => this.#run.next()),
      'another `next()`',
    );
  }
}

/** Which of a run's Events, stored so far, still lack something; `undefined` if none does. */
function openWrites(watch: Watch, invocationId: string): string | undefined {
  const writes = watch.calls.filter(({name, event}) => name === 'appendEvent' && event?.invocationId === invocationId);
  if (writes.some(({ended}) => !ended)) return 'a write is under way';
  return pairingFlaw(writes.flatMap(({event, outcome}) => (event && outcome && 'value' in outcome ? event : [])));
}
