import {getFunctionCalls, type Event} from '../../events/event.ts';
import type {Run} from '../../runner/run.ts';
import type {BaseSessionService} from '../../sessions/base-session-service.ts';
import {probe, type Probe} from './probe.ts';
import type {Scenario} from './scenario.ts';
import type {Instant} from './watched-call.ts';
import type {World} from './world.ts';

/** What is found when a run is over. */
export interface Aftermath {
  /** What `next()` gives after the end. */
  readonly again: readonly IteratorResult<Event, void>[];
  /** The session as the service gives it. */
  readonly events: readonly Event[];
  /** A next run on that session. */
  readonly probe: Probe;
  readonly probed: {readonly from: Instant; readonly to: Instant};
  /** The session once everything that was left behind has ended. */
  readonly lateEvents: readonly Event[];
}

/** How long what was left behind is followed. */
const LATE_MS = 3_600_000;
const LATE_TIMERS = 200;

/** Asks the run once more, reads its session, starts a next run on it, and waits for what comes late. */
export async function lookAround(
  world: World,
  scenario: Scenario,
  run: Run,
  getSession: BaseSessionService['getSession'],
): Promise<Aftermath> {
  const {watch, clock} = world;
  const {request, runner, release} = scenario;
  const ask = (): Promise<IteratorResult<Event, void>> =>
    world.settle(
      watch.as('reader', () => run.next()),
      'another `next()`',
    );
  const key = {appName: runner.appName, userId: request.userId, sessionId: request.sessionId};
  const read = async (): Promise<readonly Event[]> => (await world.settle(getSession(key), '`getSession`'))?.events ?? [];

  const again = [await ask(), await ask()];
  const events = await read();
  const caller = events.findLast((event) => getFunctionCalls(event).length > 0)?.author ?? 'user';
  const from = watch.instant();
  const next = await world.settle(
    watch.as('probe', () => probe(scenario, caller)),
    'the end of a next run',
  );
  const to = watch.instant();
  watch.foreign(() => release?.());
  const untilMs = clock.nowMs + LATE_MS;
  for (let timers = 0; timers < LATE_TIMERS && (clock.pending[0]?.dueMs ?? Infinity) < untilMs; timers++) await world.timer();
  await world.turn(() => {});
  return {again, events, probe: next, probed: {from, to}, lateEvents: await read()};
}
