import type {Lifetime} from '../async/lifetime.ts';
import type {BaseArtifactService} from '../artifacts/base-artifact-service.ts';
import type {Content} from '../content.ts';
import type {EventActions} from '../events/event-actions.ts';
import type {BaseMemoryService} from '../memory/base-memory-service.ts';
import type {Session} from '../sessions/session.ts';
import type {Granted} from './requests.ts';

/** The runner's stores beside its sessions; a missing one is one that it was not given. */
export interface RunServices {
  readonly artifactService?: BaseArtifactService | undefined;
  readonly memoryService?: BaseMemoryService | undefined;
}

/** What a run tells the contexts that it hands out. */
export interface ContextSource {
  readonly invocationId: string;
  readonly agentName: string;
  readonly branch?: string | undefined;
  readonly session: Session;
  readonly userContent?: Content | undefined;
  /** The run itself, for what is built on top of it. */
  readonly run?: {readonly services?: RunServices | undefined} | undefined;
}

/** What a context is made of. */
export interface ContextOptions {
  readonly source: ContextSource;
  /** Takes what the user code writes. */
  readonly actions: EventActions;
  /** The work that the context belongs to. */
  readonly life: Lifetime;
  /** The state that is read; the session's own where it is missing. */
  readonly state?: Readonly<Record<string, unknown>>;
  readonly functionCallId?: string;
  /** What the call had asked for. */
  readonly granted?: Granted | undefined;
}
