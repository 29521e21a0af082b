import type {BaseArtifactService} from '../artifacts/base-artifact-service.ts';
import type {BaseMemoryService} from '../memory/base-memory-service.ts';

/** What a tool that remembers uses of its context. */
export interface MemoryContext {
  readonly appName: string;
  readonly userId: string;
  /** The runner's; `undefined` where it has none. */
  readonly memoryService?: BaseMemoryService | undefined;
}

/** What a tool that reads artifacts uses of its context. */
export interface ArtifactContext {
  readonly appName: string;
  readonly userId: string;
  readonly sessionId: string;
  /** The runner's; `undefined` where it has none. */
  readonly artifactService?: BaseArtifactService | undefined;
}
