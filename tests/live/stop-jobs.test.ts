// A live run without any socket, stopped after each of its promise jobs.
import {describe, expect, test} from 'vitest';
import {RunCancelledError, type Event} from 'sluice';
import {PromiseJobs} from '../../lib/testing/schedule-explorer/promise-jobs.ts';
import {STOP_KINDS} from '../../lib/testing/schedule-explorer/schedule.ts';
import {expectValidLive, liveLine} from './kit.ts';
import {expectTurn} from './stop-goes-on.ts';
import {play, type JobStop, type Played} from './stop-jobs.ts';
import {SAID} from './stop-script.ts';

const kinds = STOP_KINDS.filter((kind) => kind !== 'close');

/** How a run goes that is left alone. */
async function playWhole(jobs: PromiseJobs, pauseAfter?: number): Promise<Played> {
  // Loading it the first time is no promise job of a run's.
  await import('sluice/live');
  const whole = await play(jobs, {kind: 'return', job: Infinity, pauseAfter});
  return whole;
}

describe('a live run is over', () => {
  test.each(kinds)(
    'by %s after any of its promise jobs',
    async (kind) => {
      using jobs = new PromiseJobs();
      const whole = await playWhole(jobs);
      expect(whole.outcome).toMatchObject({kind: 'done', abandoned: []});
      for (let job = 1; job <= whole.jobs; job++) await expectStopped(jobs, {kind, job}, whole);
    },
    60_000,
  );

  test.each(kinds)(
    'by %s after any of its promise jobs, though nobody reads',
    async (kind) => {
      using jobs = new PromiseJobs();
      const whole = await playWhole(jobs);
      for (let pauseAfter = 1; pauseAfter < whole.reader.events.length; pauseAfter++) {
        // Another seventh of the jobs each time.
        const paused = await playWhole(jobs, pauseAfter);
        for (let job = 1 + (pauseAfter % 7); job <= paused.jobs; job += 7) await expectStopped(jobs, {kind, job, pauseAfter}, whole);
      }
    },
    60_000,
  );
});

async function expectStopped(jobs: PromiseJobs, stop: JobStop, whole: Played): Promise<void> {
  try {
    const it = await play(jobs, stop);
    if (it.fired) await check(it, whole);
  } catch (error) {
    throw new Error(`${stop.kind} after ${stop.job} jobs${stop.pauseAfter === undefined ? '' : ` and ${stop.pauseAfter} Events`}`, {
      cause: error,
    });
  }
}

async function check(it: Played, whole: Played): Promise<void> {
  const {fired, reader, outcome, stored, model, queue} = it;
  if (fired?.phase !== 'running') return;
  // It had finished by itself, and its reader has got everything.
  if (outcome.kind === 'done') return expect(shown(it)).toEqual(shown(whole));
  const isLeft = ['return', 'dispose', 'break'].includes(fired.stop.kind);
  expect(outcome).toMatchObject({kind: isLeft ? 'return' : 'abort', abandoned: [], lastEventId: stored.at(-1)?.id});
  if (fired.reason !== undefined) expect(outcome.reason).toBe(fired.reason);
  else if (fired.stop.kind === 'cancel session') expect(outcome.reason).toBeInstanceOf(RunCancelledError);
  const end = reader.ends[0];
  if (isLeft) expect(reader.ends.every((it) => 'done' in it)).toBe(true);
  else if (fired.stop.kind !== 'throw' || fired.pulling > 0)
    expect(end && 'error' in end && Object.is(end.error, outcome.reason)).toBe(true);

  // All of it heeds its signal: it is over in no time, and nothing happens any more.
  expect(it.ms).toBeLessThanOrEqual(fired.stop.kind === 'close' ? 1 : 0);
  expect(it.late).toEqual([]);
  expect(model.connections.map(({isClosed}) => isClosed)).toEqual(model.connections.map(() => true));
  expect(it.left).toEqual({timers: 0, listeners: 0});
  expect(it.unhandled).toEqual([]);
  expect(it.diagnostics).toEqual([]);
  expect(queue.closed).toBe(true);
  expect(it.user.waiting).toBe(0);

  expectValidLive(stored);
  expectKept(it);
  await expectTurn(it);
}

function shown({reader}: Played): string[] {
  return reader.events.map(({event}) => liveLine(event));
}

/** What the reader has got is stored: every whole Event, and what was said in the partial ones; and nothing that the model has not said. */
function expectKept({reader, stored}: Played): void {
  const seen = reader.events.map(({event}) => event);
  const ids = stored.map(({id}) => id);
  const whole = seen.filter(({partial}) => !partial).map(({id}) => id);
  expect(ids.filter((id) => whole.includes(id))).toEqual(whole);
  for (const who of ['user', 'root']) {
    const partial = saidBy(
      who,
      seen.filter(({partial}) => partial),
    );
    const kept = saidBy(
      who,
      stored.filter(({inputTranscription, author}) => author === 'root' || inputTranscription),
    );
    expect(kept.startsWith(partial)).toBe(true);
    expect(SAID[who]?.startsWith(kept)).toBe(true);
  }
  // What the model has not finished says so.
  for (const event of stored) {
    const {author, turnComplete, interrupted, content, customMetadata} = event;
    const isWhole =
      author !== 'root' || turnComplete || interrupted || content?.parts?.some((part) => part.functionCall ?? part.functionResponse);
    expect([liveLine(event), Boolean(isWhole)]).toEqual([liveLine(event), !customMetadata?.['stopped']]);
  }
}

function saidBy(who: string, events: readonly Event[]): string {
  const by = events.filter(({author}) => author === who);
  return by
    .map(({content, inputTranscription, outputTranscription}) =>
      [inputTranscription, outputTranscription, ...(content?.parts ?? [])].map((it) => it?.text ?? '').join(''),
    )
    .join('');
}
