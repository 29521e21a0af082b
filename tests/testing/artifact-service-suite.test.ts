import {AssertionError} from 'node:assert';
import {describe, expect, test} from 'vitest';
import type {BaseArtifactService} from '../../lib/artifacts/base-artifact-service.ts';
import {artifactServiceSuite} from '../../lib/testing/artifact-service-suite.ts';
import {type Fault, TextArtifactService} from '../artifacts/text-artifact-service.ts';

describe('a store of rows that is opened asynchronously', () => {
  test.each(artifactServiceSuite(async () => new TextArtifactService()))('passes: $name', async ({run}) => {
    await expect(run()).resolves.toBeUndefined();
  });
});

test('the names of the cases are unique', () => {
  const names = artifactServiceSuite(() => new TextArtifactService()).map(({name}) => name);
  expect(new Set(names).size).toBe(names.length);
  expect(names.length).toBeGreaterThanOrEqual(15);
});

test('a create that fails fails every case with its error', async () => {
  const reason = new Error('no bucket');
  for (const {run} of artifactServiceSuite(() => Promise.reject(reason))) await expect(run()).rejects.toBe(reason);
});

/** The cases that a store fails, and whether each says so by an assertion. */
async function failuresOf(create: () => BaseArtifactService): Promise<string[]> {
  const failed: string[] = [];
  for (const {name, run} of artifactServiceSuite(create)) {
    const error: unknown = await run().then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    if (error !== undefined) failed.push(error instanceof AssertionError ? name : `${name} (${String(error)})`);
  }
  return failed;
}

const faults: Record<Fault, string[]> = {
  'keeps one version': [
    'each save makes the next version, from 0, and all stay readable',
    'versions are in the order of numbers, also where there are more than ten',
    'saves that run at the same time get a version each and lose nothing',
    "a file whose name begins with user: is one file in all of the user's sessions, and nobody else's",
    'a part comes back with every value that it was saved with',
  ],
  'counts on after a deletion': ['deleteArtifact removes all versions of that file only, once or twice, and its next version is 0'],
  'sorts versions as text': ['versions are in the order of numbers, also where there are more than ten'],
  'forgets user:': [
    "a file whose name begins with user: is one file in all of the user's sessions, and nobody else's",
    'user: belongs to the name: a file without it is another',
    'names do not run into one another, whatever is in them',
  ],
  'makes one path of the names': ['names do not run into one another, whatever is in them'],
  'shares references': [
    'what a caller changes in a part that it saves is not stored, not even before the save is done',
    "a part that was loaded is the caller's own: what it changes there is not stored",
    'a part without content, or that JSON cannot hold, is refused and makes no version',
  ],
  'freezes what it gives': ["a part that was loaded is the caller's own: what it changes there is not stored"],
  'copies late': ['what a caller changes in a part that it saves is not stored, not even before the save is done'],
  'drops empty texts': ['a part comes back with every value that it was saved with'],
  'throws on a missing version': ['a file or a version that is not there is undefined, and an empty list (TypeError: no such version)'],
};

test.each(Object.entries(faults) as [Fault, string[]][])('a store that %s is caught', async (fault, expected) => {
  expect(await failuresOf(() => new TextArtifactService(fault))).toEqual(expected);
});
