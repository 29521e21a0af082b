import {
  BaseArtifactService,
  type ArtifactScope,
  type DeleteArtifactRequest,
  type ListVersionsRequest,
  type LoadArtifactRequest,
  type SaveArtifactRequest,
} from '../artifacts/base-artifact-service.ts';
import type {Part} from '../content.ts';

/** The files of one session, whichever session is asked for: an agent that is called as a tool works on those of its caller. */
export class ForwardedArtifacts extends BaseArtifactService {
  readonly #service: BaseArtifactService;
  readonly #scope: ArtifactScope;

  constructor(service: BaseArtifactService, scope: ArtifactScope) {
    super();
    this.#service = service;
    this.#scope = scope;
  }

  override saveArtifact(request: SaveArtifactRequest): Promise<number> {
    return this.#service.saveArtifact({...request, ...this.#scope});
  }

  override loadArtifact(request: LoadArtifactRequest): Promise<Part | undefined> {
    return this.#service.loadArtifact({...request, ...this.#scope});
  }

  override listArtifactKeys(): Promise<string[]> {
    return this.#service.listArtifactKeys(this.#scope);
  }

  override deleteArtifact(request: DeleteArtifactRequest): Promise<void> {
    return this.#service.deleteArtifact({...request, ...this.#scope});
  }

  override listVersions(request: ListVersionsRequest): Promise<number[]> {
    return this.#service.listVersions({...request, ...this.#scope});
  }
}
