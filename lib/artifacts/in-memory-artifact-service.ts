import type {Part} from '../content.ts';
import {checkedCopy, copyJson} from '../schema/json-copy.ts';
import {
  type ArtifactScope,
  BaseArtifactService,
  type DeleteArtifactRequest,
  type ListArtifactKeysRequest,
  type ListVersionsRequest,
  type LoadArtifactRequest,
  type SaveArtifactRequest,
  USER_PREFIX,
} from './base-artifact-service.ts';
import {checkArtifact, checkFile, checkScope, checkVersion} from './check-artifact-arguments.ts';

/**
 * Artifacts in this process's memory: for tests, for tools that live as long as their process, and the reference for other stores.
 *
 * Nothing is ever dropped but by `deleteArtifact`. Saving and loading copy the objects of a part and share its strings, so that neither
 * takes longer for more bytes.
 *
 * @example
 * ```ts
 * import {InMemoryArtifactService} from 'sluice';
 *
 * const service = new InMemoryArtifactService();
 * const file = {appName: 'demo', userId: 'ada', sessionId: 's', filename: 'user:notes.txt'};
 * const version = await service.saveArtifact({...file, artifact: {text: 'Buy milk'}});
 * const part = await service.loadArtifact({...file, sessionId: 'another', version});
 * ```
 */
export class InMemoryArtifactService extends BaseArtifactService {
  /** By owner, then by file name; the versions of a file stand in order. */
  readonly #folders = new Map<string, Map<string, Part[]>>();

  override async saveArtifact(request: SaveArtifactRequest): Promise<number> {
    const {filename, artifact} = request;
    checkFile(request);
    checkArtifact(artifact);
    const stored = checkedCopy(artifact, 'artifact');
    const owner = ownerOf(request);
    const folder = this.#folders.get(owner) ?? new Map<string, Part[]>();
    const versions = folder.get(filename) ?? [];
    this.#folders.set(owner, folder.set(filename, versions));
    return versions.push(stored) - 1;
  }

  override async loadArtifact(request: LoadArtifactRequest): Promise<Part | undefined> {
    checkFile(request);
    checkVersion(request.version);
    const versions = this.#versionsOf(request);
    const part = versions[request.version ?? versions.length - 1];
    return part && copyJson(part);
  }

  override async listArtifactKeys(request: ListArtifactKeysRequest): Promise<string[]> {
    checkScope(request);
    const owners = [userOf(request), sessionOf(request)];
    return owners.flatMap((owner) => [...(this.#folders.get(owner)?.keys() ?? [])]).toSorted();
  }

  override async deleteArtifact(request: DeleteArtifactRequest): Promise<void> {
    checkFile(request);
    const owner = ownerOf(request);
    const folder = this.#folders.get(owner);
    folder?.delete(request.filename);
    // A service that lives long sees many sessions.
    if (folder?.size === 0) this.#folders.delete(owner);
  }

  override async listVersions(request: ListVersionsRequest): Promise<number[]> {
    checkFile(request);
    return [...this.#versionsOf(request).keys()];
  }

  #versionsOf(request: ListVersionsRequest): readonly Part[] {
    return this.#folders.get(ownerOf(request))?.get(request.filename) ?? [];
  }
}

function ownerOf(request: ListVersionsRequest): string {
  return request.filename.startsWith(USER_PREFIX) ? userOf(request) : sessionOf(request);
}

// Lists as JSON, since names may hold any separator: those of `a` and `b/c` must not be those of `a/b` and `c`, nor those of a user those of
// a session.
const userOf = ({appName, userId}: ArtifactScope): string => JSON.stringify([appName, userId]);
const sessionOf = ({appName, userId, sessionId}: ArtifactScope): string => JSON.stringify([appName, userId, sessionId]);
