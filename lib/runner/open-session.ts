import {SessionNotFoundError} from '../errors.ts';
import type {BaseSessionService} from '../sessions/base-session-service.ts';
import {withoutRewound} from '../sessions/rewound.ts';
import type {Session} from '../sessions/session.ts';
import type {Steps} from '../steps/steps.ts';
import type {RunLife} from './run-life.ts';
import type {RunRequest} from './run-request.ts';
import {SessionWriter} from './session-writer.ts';

export interface OpenSessionRequest {
  readonly service: BaseSessionService;
  readonly appName: string;
  readonly request: Pick<RunRequest, 'userId' | 'sessionId'>;
  /** Whether to create the session where there is none. */
  readonly create: boolean;
  readonly steps: Steps;
  readonly life: RunLife;
}

/**
 * Takes a session over for a run, and reads it.
 *
 * @throws {@link SessionNotFoundError} where there is none
 */
export async function openSession({service, appName, request, create, steps, life}: OpenSessionRequest): Promise<SessionWriter> {
  const {userId, sessionId} = request;
  const key = {appName, userId, sessionId};
  const leave = life.shared.open.enter({name: 'session service'});
  try {
    const {session, epoch} = await steps.step('open the session', async () => {
      const found = await service.getSession(key);
      // A run that was stopped takes no session over: that would make another process's run stale for nothing.
      life.life.throwIfEnded();
      const session: Session | undefined = found ?? (create ? await service.createSession(key) : undefined);
      // What should go with the run must also go where it came only after the run had ended.
      if (life.life.ended) await life.cleanUp?.();
      life.life.throwIfEnded();
      if (!session) throw new SessionNotFoundError(key);
      return {session, epoch: await service.claimSession?.(key)};
    });
    session.events = withoutRewound(session.events);
    return new SessionWriter(service, session, epoch);
  } finally {
    leave();
  }
}
