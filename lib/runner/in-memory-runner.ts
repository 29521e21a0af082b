import {InMemorySessionService} from '../sessions/in-memory-session-service.ts';
import {Runner} from './runner.ts';
import type {RunnerConfig} from './runner-config.ts';

/**
 * A Runner with everything in memory: for programs that keep nothing, and for tests.
 *
 * @example
 * ```ts
 * import {InMemoryRunner, LlmAgent} from 'sluice';
 *
 * const runner = new InMemoryRunner({agent: new LlmAgent({name: 'clerk', model: 'gemini-2.5-flash'})});
 * const session = await runner.sessionService.createSession({appName: runner.appName, userId: 'u'});
 * ```
 */
export class InMemoryRunner<T = unknown> extends Runner<T> {
  /** @param config - as for `Runner`, without `sessionService`; `appName` is `'InMemoryRunner'` where it is missing */
  constructor({
    appName = 'InMemoryRunner',
    ...config
  }: Omit<RunnerConfig<T>, 'sessionService' | 'appName'> & {readonly appName?: string | undefined}) {
    super({...config, appName, sessionService: new InMemorySessionService()});
  }
}
