import type {BaseSessionService} from '../sessions/base-session-service.ts';
import {appendCases} from './session-service/append-cases.ts';
import {epochCases} from './session-service/epoch-cases.ts';
import {isolationCases} from './session-service/isolation-cases.ts';
import {recordCases} from './session-service/record-cases.ts';
import {SessionWorld} from './session-service/session-case.ts';
import {stateCases} from './session-service/state-cases.ts';

/** One case of {@link sessionServiceSuite}. */
export interface SessionServiceCase {
  /** What the service must do, as a sentence. */
  readonly name: string;
  /** Resolves where it does; rejects with an `AssertionError`, or with what the service threw. */
  readonly run: () => Promise<void>;
}

/**
 * What a Runner, and the programs around it, rely on in a session service: a case per promise of {@link BaseSessionService}. Works with any
 * test runner. The cases do not depend on one another and may run in any order; each names an app of its own, so that a store may keep what
 * others left. Those on epochs pass where the service has no `claimSession`, that on `getInitialState` where it has none.
 *
 * @param create - gives the service to test, once per case; the same one again is fine. What it opens is the caller's to close.
 *
 * @example
 * ```ts
 * import {test} from 'node:test';
 * import {InMemorySessionService} from 'sluice';
 * import {sessionServiceSuite} from 'sluice/testing';
 *
 * for (const {name, run} of sessionServiceSuite(() => new InMemorySessionService())) void test(name, run);
 * ```
 */
export function sessionServiceSuite(create: () => BaseSessionService | Promise<BaseSessionService>): SessionServiceCase[] {
  const cases = [...recordCases, ...appendCases, ...stateCases, ...isolationCases, ...epochCases];
  return cases.map(({name, check}) => ({name, run: async () => check(new SessionWorld(await create()))}));
}
