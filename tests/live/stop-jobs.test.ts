// A live run without any socket, stopped after each of its promise jobs: between any two of them something may be half done.
import {describe, expect, test} from 'vitest';
import {RunCancelledError, type Event} from 'sluice';
import {PromiseJobs} from '../../lib/testing/schedule-explorer/promise-jobs.ts';
import type {StopKind} from '../../lib/testing/schedule-explorer/schedule.ts';
import {expectValidLive, liveLine} from './kit.ts';
import {expectTurn} from './stop-goes-on.ts';
import {play, type JobStop, type Played} from './stop-jobs.ts';
import {SAID} from './stop-script.ts';

/** They play thousands of runs: milliseconds that a busy machine may need for one test. */
const TIMEOUT_MS = 120_000;

/** Every so-manieth job is tried: of a reader that reads on, and of one that has paused after some Event. */
const steps: readonly (readonly [kind: StopKind, reading: number, paused: number])[] = [
  ['abort', 1, 17],
  ['return', 1, 17],
  ['throw', 3, 37],
  ['cancel session', 3, 37],
  ['dispose', 5, 101],
  ['break', 5, 101],
  ['cancel run', 11, 101],
  ['abort string', 11, 101],
  ['abort undefined', 11, 101],
];

describe('a live run is over', () => {
  test.each(steps)('by %s after its promise jobs', {timeout: TIMEOUT_MS}, async (kind, step) => {
    using jobs = new PromiseJobs();
    const whole = await playWhole(jobs);
    expect(whole.outcome).toMatchObject({kind: 'done', abandoned: []});
    for (let job = 1; job <= whole.jobs; job += step) await expectStopped(jobs, {kind, job}, whole);
  });

  test.each(steps)('by %s after its promise jobs, where hooks and the store take their time', {timeout: TIMEOUT_MS}, async (kind, step) => {
    using jobs = new PromiseJobs();
    const slow = true;
    const whole = await playWhole(jobs, {slow});
    expect(whole.outcome).toMatchObject({kind: 'done', abandoned: []});
    for (let job = 1; job <= whole.jobs; job += step * 2 - 1) await expectStopped(jobs, {kind, job, slow}, whole);
  });

  test.each(steps)('by %s after its promise jobs, though nobody reads', {timeout: TIMEOUT_MS}, async (kind, _, step) => {
    using jobs = new PromiseJobs();
    const whole = await playWhole(jobs);
    for (let pauseAfter = 1; pauseAfter < whole.reader.events.length; pauseAfter++) {
      const paused = await playWhole(jobs, {pauseAfter});
      // Nobody has to read for what is said to be kept.
      expect(paused.stored.map(liveLine)).toEqual(whole.stored.map(liveLine));
      // Others each time.
      const first = 1 + ((pauseAfter * 7) % step);
      for (let job = first; job <= paused.jobs; job += step) await expectStopped(jobs, {kind, job, pauseAfter}, whole);
    }
  });
});

/** How a run goes that is left alone; where its reader pauses, until nothing is left to do. */
async function playWhole(jobs: PromiseJobs, how: Partial<JobStop> = {}): Promise<Played> {
  // Loading it the first time is no promise job of a run's.
  await import('sluice/live');
  return play(jobs, {kind: 'return', job: Infinity, ...how});
}

async function expectStopped(jobs: PromiseJobs, stop: JobStop, whole: Played): Promise<void> {
  try {
    const it = await play(jobs, stop);
    if (it.fired?.phase === 'running') await check(it, whole);
  } catch (cause) {
    const paused = stop.pauseAfter === undefined ? '' : `, with a reader that pauses after ${stop.pauseAfter} Events`;
    throw new Error(`${stop.kind} after ${stop.job} promise jobs${paused}`, {cause});
  }
}

async function check(it: Played, whole: Played): Promise<void> {
  const {outcome, stored, model, queue, fired} = it;
  // It had finished by itself, and its reader has got everything.
  if (outcome.kind === 'done') return expect(shown(it)).toEqual(shown(whole));
  expectTold(it);

  // All of it heeds its signal: it is over in no time, and nothing happens any more.
  expect(it.ms).toBe(0);
  expect([fired?.stop.kind, ...it.late]).toEqual([fired?.stop.kind]);
  expect(model.connections.every(({isClosed}) => isClosed)).toBe(true);
  expect(it.left).toEqual({timers: 0, listeners: 0});
  expect(it.unhandled).toEqual([]);
  expect(it.diagnostics).toEqual([]);
  expect(queue.closed).toBe(true);
  expect(it.user.waiting).toBe(0);

  expectValidLive(stored);
  expectKept(it);
  return expectTurn(it);
}

function expectTold({fired, reader, outcome, stored}: Played): void {
  const {kind} = fired?.stop ?? {};
  const isLeft = kind === 'return' || kind === 'dispose' || kind === 'break';
  expect(outcome).toMatchObject({kind: isLeft ? 'return' : 'abort', abandoned: [], lastEventId: stored.at(-1)?.id});
  if (fired?.reason !== undefined) expect(outcome.reason).toBe(fired.reason);
  else if (kind === 'cancel session') expect(outcome.reason).toBeInstanceOf(RunCancelledError);
  const ends: unknown[] = reader.ends.map((end) => ('error' in end ? end.error : 'done'));
  // Who waits for an Event is told, or asks then and is told; `throw()` itself may have told already.
  const hasWaited = (fired?.pulling ?? 0) > 0 && !reader.events.some(({at}) => at.order > (fired?.at.order ?? 0));
  const mayBeDone = isLeft || (kind === 'throw' && !hasWaited && ends[0] === 'done');
  expect(ends).toEqual(mayBeDone ? ends.map(() => 'done') : [outcome.reason]);
}

/** What the reader has got is stored: every whole Event, and what was said in the partial ones; and nothing that was not said. */
function expectKept({reader, stored}: Played): void {
  const seen = reader.events.map(({event}) => event);
  const whole = seen.filter(({partial}) => !partial).map(({id}) => id);
  expect(stored.map(({id}) => id).filter((id) => whole.includes(id))).toEqual(whole);
  for (const [who, all] of Object.entries(SAID)) {
    const partial = saidBy(
      who,
      seen.filter((event) => event.partial),
    );
    const kept = saidBy(
      who,
      stored.filter(({inputTranscription}) => who === 'root' || inputTranscription),
    );
    expect([kept.startsWith(partial), all.startsWith(kept)]).toEqual([true, true]);
  }
  // What the model has not finished says so, and nothing else.
  for (const event of stored) {
    const {author, turnComplete, interrupted, content, customMetadata} = event;
    const acts = content?.parts?.some((part) => part.functionCall ?? part.functionResponse);
    const isWhole = author !== 'root' || turnComplete || interrupted || acts || false;
    expect([liveLine(event), isWhole]).toEqual([liveLine(event), !customMetadata?.['stopped']]);
  }
}

function shown({reader}: Played): string[] {
  return reader.events.map(({event}) => liveLine(event));
}

function saidBy(who: string, events: readonly Event[]): string {
  const by = events.filter(({author}) => author === who);
  return by
    .flatMap(({content, inputTranscription, outputTranscription}) => [inputTranscription, outputTranscription, ...(content?.parts ?? [])])
    .map((it) => it?.text ?? '')
    .join('');
}
