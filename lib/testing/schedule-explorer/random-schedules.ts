import type * as FastCheck from 'fast-check';
import {InvalidOptionError} from '../../errors.ts';
import type {Places} from './candidates.ts';
import type {Schedule, ScheduledStop, StopKind} from './schedule.ts';

export interface RandomOptions {
  readonly places: readonly Places[];
  readonly kinds: readonly StopKind[];
  readonly count: number;
  readonly seed: number;
  /** Throws for a schedule that breaks the contract. */
  readonly play: (schedule: Schedule) => Promise<void>;
}

/**
 * Plays schedules that combine what the list of single stops leaves apart: up to three stops, a reader that pauses anywhere or asks several
 * times at once, a deadline besides. Throws what the smallest one throws that was found to fail.
 *
 * fast-check is loaded here and nowhere else, so that `sluice/testing` does without it.
 */
export async function playRandom({places, kinds, count, seed, play}: RandomOptions): Promise<void> {
  const fc = await load(count);
  let smallest: unknown;
  const property = fc.asyncProperty(schedules(fc, places, kinds), async (schedule) => {
    try {
      await play(schedule);
    } catch (error) {
      smallest = error;
      throw error;
    }
  });
  const result = await fc.check(property, {numRuns: count, seed, endOnFailure: false});
  if (!result.failed) return;
  const [schedule] = result.counterexample ?? [];
  if (schedule) await play(schedule);
  throw smallest;
}

async function load(count: number): Promise<typeof FastCheck> {
  try {
    return await import('fast-check');
  } catch (cause) {
    throw new InvalidOptionError('randomSchedules', '0 where the package `fast-check` is not installed', count, {cause});
  }
}

/** Shrinks towards the first mode, one stop of the first kind, the earliest moment, a reader that just reads. */
function schedules(fc: typeof FastCheck, places: readonly Places[], kinds: readonly StopKind[]): FastCheck.Arbitrary<Schedule> {
  return fc.constantFrom(...places).chain(({mode, busy, idle, deadlinesMs, events}) => {
    const moments = [...busy, ...idle.map(({moment}) => moment)];
    const stop: FastCheck.Arbitrary<ScheduledStop> = fc
      .record({kind: fc.constantFrom(...kinds), at: fc.nat(moments.length - 1)})
      .map(({kind, at}) => ({
        kind,
        ...(moments[at] ?? {after: 'start', jobs: 0}),
      }));
    return fc
      .record({
        stops: fc.array(stop, {minLength: 1, maxLength: 3}),
        pauseAfter: fc.option(fc.nat(events), {nil: undefined, freq: 2}),
        pulls: fc.option(fc.integer({min: 2, max: 3}), {nil: undefined, freq: 1}),
        deadlineMs: fc.option(fc.constantFrom(1_000, ...deadlinesMs), {nil: undefined, freq: 1}),
      })
      .map(({stops, pauseAfter, pulls, deadlineMs}) => ({
        ...mode,
        stops,
        ...(pauseAfter !== undefined && {pauseAfter}),
        ...(pulls !== undefined && {pulls}),
        ...(deadlineMs !== undefined && {deadlineMs}),
      }));
  });
}
