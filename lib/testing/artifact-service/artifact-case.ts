import type {ArtifactScope, BaseArtifactService} from '../../artifacts/base-artifact-service.ts';
import type {Part} from '../../content.ts';

/** One thing that an artifact service must do. */
export interface ArtifactCase {
  readonly name: string;
  readonly check: (world: ArtifactWorld) => Promise<void>;
}

/** A service, a session in an app that no other case uses, and what most cases do with them. */
export class ArtifactWorld {
  readonly service: BaseArtifactService;
  // A store may keep what earlier cases, or earlier runs of the suite, left in it.
  readonly scope: ArtifactScope = {appName: `app-${crypto.randomUUID()}`, userId: 'ada', sessionId: 'first'};

  constructor(service: BaseArtifactService) {
    this.service = service;
  }

  /** Saves a text in the case's session, or in another scope. */
  save(filename: string, text: string, scope: Partial<ArtifactScope> = {}): Promise<number> {
    return this.service.saveArtifact({...this.scope, ...scope, filename, artifact: {text}});
  }

  /** What the latest version holds, or another. */
  load(filename: string, scope: Partial<ArtifactScope> = {}, version?: number): Promise<Part | undefined> {
    return this.service.loadArtifact({...this.scope, ...scope, filename, ...(version !== undefined && {version})});
  }

  keys(scope: Partial<ArtifactScope> = {}): Promise<string[]> {
    return this.service.listArtifactKeys({...this.scope, ...scope});
  }

  versions(filename: string, scope: Partial<ArtifactScope> = {}): Promise<number[]> {
    return this.service.listVersions({...this.scope, ...scope, filename});
  }

  delete(filename: string, scope: Partial<ArtifactScope> = {}): Promise<void> {
    return this.service.deleteArtifact({...this.scope, ...scope, filename});
  }
}
