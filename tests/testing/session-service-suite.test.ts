import {AssertionError} from 'node:assert';
import {describe, expect, test} from 'vitest';
import type {BaseSessionService} from '../../lib/sessions/base-session-service.ts';
import {sessionServiceSuite} from '../../lib/testing/session-service-suite.ts';
import {EpochSessionService, type Fault, TextSessionService} from '../sessions/text-session-service.ts';

describe('a store of five methods', () => {
  test.each(sessionServiceSuite(() => new TextSessionService()))('passes: $name', async ({run}) => {
    await expect(run()).resolves.toBeUndefined();
  });
});

describe('a store with epochs that is opened asynchronously', () => {
  test.each(sessionServiceSuite(async () => new EpochSessionService()))('passes: $name', async ({run}) => {
    await expect(run()).resolves.toBeUndefined();
  });
});

test('the names of the cases are unique', () => {
  const names = sessionServiceSuite(() => new TextSessionService()).map(({name}) => name);
  expect(new Set(names).size).toBe(names.length);
  expect(names.length).toBeGreaterThanOrEqual(25);
});

test('a create that fails fails every case with its error', async () => {
  const reason = new Error('no database');
  const cases = sessionServiceSuite(() => Promise.reject(reason));
  for (const {run} of cases) await expect(run()).rejects.toBe(reason);
});

/** The cases that a store fails, and whether each says so by an assertion. */
async function failuresOf(create: () => BaseSessionService): Promise<string[]> {
  const failed: string[] = [];
  for (const {name, run} of sessionServiceSuite(create)) {
    const error: unknown = await run().then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    if (error !== undefined) failed.push(error instanceof AssertionError ? name : `${name} (${String(error)})`);
  }
  return failed;
}

const faults: Record<Fault, string[]> = {
  overwrites: ['createSession refuses a taken id and leaves the session as it is'],
  'shares references': [
    'initial state that is no record, or that JSON cannot hold, is refused and no session made',
    "temp: keys reach the caller's state and nothing else",
    'what a caller changes in an Event that it appends is not stored, not even before the append is done',
    'what a caller changes in a session that it made, got or listed is not stored',
    'what a caller changes in the initial state that it gave is not stored',
  ],
  'appends twice': [
    'an id that is appended again is stored once, at the end and further back',
    'an id that is appended again keeps the Event that was stored first, and newer state',
    'an id that is appended again through another record is stored once, and that record gets it',
  ],
  'leaks temp:': [
    'initial state goes to its scopes, and temp: keys nowhere',
    "temp: keys reach the caller's state and nothing else",
    'what a caller changes in an Event that it appends is not stored, not even before the append is done',
  ],
  'forgets removal': ['State.REMOVED removes a key from its scope', 'keys such as __proto__ and constructor are ordinary keys'],
  'loses shared writes': [
    'listSessions gives the sessions of one user, or of all, with their state and without Events',
    'deleteSession removes that session only, once or twice, and leaves shared state',
    'appends that run at the same time are each stored once and lose nothing',
    'initial state goes to its scopes, and temp: keys nowhere',
    'the later append wins where two write one key',
    'keys such as __proto__ and constructor are ordinary keys',
  ],
  'accepts stale epochs': [
    'a write with an older epoch is refused, and its Event handed back',
    'a run on a deleted session is stale in the one that takes its id',
  ],
};

test.each(Object.entries(faults) as [Fault, string[]][])('a store that %s is caught', async (fault, expected) => {
  expect(await failuresOf(() => new EpochSessionService(fault))).toEqual(expected);
});
