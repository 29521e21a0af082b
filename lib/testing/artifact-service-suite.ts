import type {BaseArtifactService} from '../artifacts/base-artifact-service.ts';
import {ArtifactWorld} from './artifact-service/artifact-case.ts';
import {partCases} from './artifact-service/part-cases.ts';
import {scopeCases} from './artifact-service/scope-cases.ts';
import {versionCases} from './artifact-service/version-cases.ts';

/** One case of {@link artifactServiceSuite}. */
export interface ArtifactServiceCase {
  /** What the service must do, as a sentence. */
  readonly name: string;
  /** Resolves where it does; rejects with an `AssertionError`, or with what the service threw. */
  readonly run: () => Promise<void>;
}

/**
 * What agents, and the programs around them, rely on in an artifact service: a case per promise of {@link BaseArtifactService}. Works with
 * any test runner. The cases do not depend on one another and may run in any order; each names an app of its own, so that a store may keep
 * what others left.
 *
 * @param create - gives the service to test, once per case; the same one again is fine. What it opens is the caller's to close.
 *
 * @example
 * ```ts
 * import {test} from 'node:test';
 * import {InMemoryArtifactService} from 'sluice';
 * import {artifactServiceSuite} from 'sluice/testing';
 *
 * for (const {name, run} of artifactServiceSuite(() => new InMemoryArtifactService())) void test(name, run);
 * ```
 */
export function artifactServiceSuite(create: () => BaseArtifactService | Promise<BaseArtifactService>): ArtifactServiceCase[] {
  const cases = [...versionCases, ...scopeCases, ...partCases];
  return cases.map(({name, check}) => ({name, run: async () => check(new ArtifactWorld(await create()))}));
}
