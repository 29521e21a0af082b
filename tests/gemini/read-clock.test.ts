import {afterEach, beforeEach, expect, test, vi} from 'vitest';

import type {ModelError} from '../../lib/errors.ts';
import {ReadClock} from '../../lib/gemini/read-clock.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const idle = {ms: 1_000, code: 'IDLE_TIMEOUT'} as const;

function clock(totalMs: number): {clock: ReadClock; expired: string[]} {
  const expired: string[] = [];
  return {clock: new ReadClock(totalMs, ({code, message}: ModelError) => expired.push(`${code}: ${message}`)), expired};
}

test('a wait that takes longer than its deadline expires once, under its own name', () => {
  const {clock: reads, expired} = clock(60_000);
  reads.start(idle);
  vi.advanceTimersByTime(999);
  expect(expired).toEqual([]);
  vi.advanceTimersByTime(60_000);
  expect(expired).toEqual(['IDLE_TIMEOUT: The model sent no further chunk within 1000 ms']);
  expect(vi.getTimerCount()).toBe(0);
});

test('the time between two waits never counts', () => {
  const {clock: reads, expired} = clock(5_000);
  for (let chunk = 0; chunk < 10; chunk += 1) {
    reads.start(idle);
    vi.advanceTimersByTime(100);
    reads.stop();
    vi.advanceTimersByTime(3_600_000);
  }
  expect(expired).toEqual([]);
  expect(reads.leftMs).toBe(4_000);
});

test('the total counts the waits alone, and back-offs', () => {
  const {clock: reads, expired} = clock(2_500);
  reads.start(idle);
  vi.advanceTimersByTime(900);
  reads.stop();
  reads.spend(1_000);
  reads.start(idle);
  vi.advanceTimersByTime(599);
  expect(expired).toEqual([]);
  vi.advanceTimersByTime(10);
  expect(expired).toEqual(['TOTAL_TIMEOUT: The model did not finish its answer within 2500 ms']);
});

test('a thousand quick waits set no timer of their own', () => {
  const set = vi.spyOn(globalThis, 'setTimeout');
  const {clock: reads, expired} = clock(600_000);
  for (let chunk = 0; chunk < 1_000; chunk += 1) {
    reads.start(idle);
    vi.advanceTimersByTime(10);
    reads.stop();
  }
  expect(expired).toEqual([]);
  // Ten seconds of waiting under a deadline of one: the timer is set anew each time it fires early.
  expect(set.mock.calls.length).toBeLessThanOrEqual(11);
  set.mockRestore();
});

test('a shorter deadline than the one before is kept too', () => {
  const {clock: reads, expired} = clock(Infinity);
  reads.start({ms: 10_000, code: 'FIRST_CHUNK_TIMEOUT'});
  vi.advanceTimersByTime(10);
  reads.stop();
  reads.start(idle);
  vi.advanceTimersByTime(1_010);
  expect(expired).toEqual(['IDLE_TIMEOUT: The model sent no further chunk within 1000 ms']);
});

test.each([Infinity, 2_147_483_648, 1e300])('a deadline of %d ms sets no timer', (ms) => {
  const {clock: reads} = clock(ms);
  reads.start({ms, code: 'IDLE_TIMEOUT'});
  expect(vi.getTimerCount()).toBe(0);
});

test('an answer that waits behind a blocked event loop is looked for before a deadline expires', () => {
  const {clock: reads, expired} = clock(60_000);
  reads.start(idle);
  // The timer fires; then sockets are read, and the answer comes in.
  vi.advanceTimersByTime(1_000);
  reads.stop();
  reads.start(idle);
  vi.advanceTimersByTime(990);
  expect(expired).toEqual([]);
  vi.advanceTimersByTime(20);
  expect(expired).toHaveLength(1);
});

test('close() leaves no timer', () => {
  const {clock: reads, expired} = clock(60_000);
  reads.start(idle);
  reads.close();
  expect(vi.getTimerCount()).toBe(0);
  vi.advanceTimersByTime(10_000);
  expect(expired).toEqual([]);
});
