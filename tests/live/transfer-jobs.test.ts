// A transfer without any socket, stopped after each of its promise jobs: between any two of them something may be half handed over.
import {describe, expect, test} from 'vitest';
import type {LlmResponse} from 'sluice';
import {PromiseJobs} from '../../lib/testing/schedule-explorer/promise-jobs.ts';
import type {StopKind} from '../../lib/testing/schedule-explorer/schedule.ts';
import {expectValidLive, liveLine} from './kit.ts';
import type {DoubleScript} from './stop-double.ts';
import {expectTurn} from './stop-goes-on.ts';
import {play, type JobStop, type Played} from './stop-jobs.ts';
import {ticks} from './stop-script.ts';
import {transferTo} from './transfer-kit.ts';

const TIMEOUT_MS = 120_000;
const DONE: LlmResponse = {turnComplete: true};
const say = (text: string): LlmResponse => ({content: {role: 'model', parts: [{text}]}, partial: true});
const call = (...calls: readonly ReturnType<typeof transferTo>[]): LlmResponse => ({
  content: {role: 'model', parts: calls.map((functionCall) => ({functionCall: {args: {}, ...functionCall}}))},
});

/** To the clerk, with a call beside it and one that the model does not wait for; the clerk is cut off, answers, and hands back. */
const scripts: readonly DoubleScript[] = [
  async (connection) => {
    await connection.heard('turn go');
    connection.says(say('One moment'), call({id: 'a', name: 'a'}, transferTo('clerk', 't1'), {id: 'ticker', name: 'ticker'}));
    await ticks(6);
    connection.says(say(' please'));
  },
  async (connection) => {
    await connection.heard('turn more');
    connection.says(say('At n'));
    connection.lose();
  },
  async (connection) => {
    await connection.heard('turn more');
    connection.says(say('At nine'), DONE);
    await ticks(9);
    connection.says(call(transferTo('root', 't2'), {id: 'quick', name: 'quick'}));
  },
  async (connection) => {
    await ticks(40);
    connection.says(say('Bye'), DONE);
  },
];
const cast = {scripts, below: ['clerk']};

const STORED = [
  'user: "go"',
  'root: "One moment" a({}) transfer_to_agent({"agentName":"clerk"}) ticker({})',
  'root: a={"result":"A"} transfer_to_agent={"status":"transferred"}',
  'root: " please" [interrupted]',
  'root: ticker={"error":"cancelled; it may have taken effect","started":true}',
  'user: "more"',
  'clerk: "At n" [interrupted]',
  'clerk: "At nine" [turn complete]',
  'clerk: transfer_to_agent({"agentName":"root"}) quick({})',
  'clerk: transfer_to_agent={"status":"transferred"} quick={"result":"Q"}',
  'root: "Bye" [turn complete]',
];

const steps: readonly (readonly [kind: StopKind, step: number])[] = [
  ['abort', 1],
  ['return', 1],
  ['throw', 3],
  ['cancel session', 3],
  ['break', 3],
];

describe('a live run that is handed over is over', () => {
  test.each(steps)('by %s after its promise jobs', {timeout: TIMEOUT_MS}, async (kind, step) => {
    await stopAtJobs(kind, step, false);
  });

  test.each(steps)('by %s after its promise jobs, where hooks and the store take their time', {timeout: TIMEOUT_MS}, async (kind, step) => {
    await stopAtJobs(kind, step * 2 - 1, true);
  });
});

async function stopAtJobs(kind: StopKind, step: number, slow: boolean): Promise<void> {
  using jobs = new PromiseJobs();
  // Loading them the first time is no promise job of a run's.
  await Promise.all([import('sluice/live'), import('sluice/flow')]);
  const whole = await play(jobs, {kind: 'return', job: Infinity, slow}, cast);
  expect(whole.outcome).toMatchObject({kind: 'done', abandoned: []});
  expect(whole.stored.map(liveLine)).toEqual(STORED);
  let stops = 0;
  for (let job = 1; job <= whole.jobs; job += step) if (await stopsAt(jobs, {kind, job, slow}, whole)) stops++;
  expect(stops).toBeGreaterThan(50);
}

async function stopsAt(jobs: PromiseJobs, stop: JobStop, whole: Played): Promise<boolean> {
  try {
    const it = await play(jobs, stop, cast);
    if (it.fired?.phase !== 'running') return false;
    await check(it, whole);
    return it.outcome.kind !== 'done';
  } catch (cause) {
    throw new Error(`${stop.kind} after ${stop.job} promise jobs`, {cause});
  }
}

async function check(it: Played, whole: Played): Promise<void> {
  const {outcome, stored, model, queue, reader} = it;
  if (outcome.kind === 'done') return expect(stored.map(liveLine)).toEqual(whole.stored.map(liveLine));
  // All of it heeds its signal: it is over in no time, and nothing happens any more.
  expect(it.ms).toBe(0);
  expect(it.late).toEqual([]);
  expect(model.connections.filter(({isClosed}) => !isClosed)).toEqual([]);
  expect(it.left).toEqual({timers: 0, listeners: 0});
  expect(it.unhandled).toEqual([]);
  expect(it.diagnostics).toEqual([]);
  expect(queue.closed).toBe(true);
  expect(it.user.waiting).toBe(0);
  expect(outcome.lastEventId).toBe(stored.at(-1)?.id);
  // What the reader has got is stored, and every call is answered once.
  const seen = reader.events.flatMap(({event}) => (event.partial ? [] : event.id));
  expect(stored.map(({id}) => id).filter((id) => seen.includes(id))).toEqual(seen);
  expectValidLive(stored);
  return expectTurn(it);
}
