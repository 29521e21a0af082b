import type {Part} from '../content.ts';

/** A session, and with it a user: whose artifacts are meant. */
export interface ArtifactScope {
  readonly appName: string;
  readonly userId: string;
  readonly sessionId: string;
}

/** What `saveArtifact` takes. */
export interface SaveArtifactRequest extends ArtifactScope {
  /** A name that begins with `user:` belongs to the user and is the same file in all of the user's sessions. */
  readonly filename: string;
  /** Has `inlineData` with its bytes as base64, `fileData` with a URI, or `text`, which may be empty. Plain JSON. */
  readonly artifact: Part;
}

/** What `loadArtifact` takes. */
export interface LoadArtifactRequest extends ArtifactScope {
  readonly filename: string;
  /** A version that `saveArtifact` gave, 0 or more. Default: the latest. */
  readonly version?: number | undefined;
}

/** What `listArtifactKeys` takes. */
export type ListArtifactKeysRequest = ArtifactScope;

/** What `deleteArtifact` takes. */
export interface DeleteArtifactRequest extends ArtifactScope {
  readonly filename: string;
}

/** What `listVersions` takes. */
export interface ListVersionsRequest extends ArtifactScope {
  readonly filename: string;
}

/**
 * Keeps artifacts: files that tools, models and users made, each a `Part` under a name, in versions.
 *
 * A file belongs to one session, or, where its name begins with `user:`, to the user over all sessions of the app. Whether the session
 * exists is not checked, and deleting a session deletes no artifact.
 *
 * What a caller changes in a part that it gave or got changes nothing stored; a part that was got is the caller's own. A part with
 * `fileData` is kept as it is: what its URI points to is neither read nor copied. Every method refuses what it cannot use with an
 * {@link InvalidOptionError}: a name that is empty or no string, a part without content, a version that is not a whole number. No method
 * takes a signal: a write that was started is finished. `artifactServiceSuite` of `sluice/testing` checks a store against all of this.
 *
 * @example
 * ```ts
 * import {BaseArtifactService, InMemoryArtifactService, type SaveArtifactRequest} from 'sluice';
 *
 * // Says what is saved, beside saving it.
 * class LoggingArtifactService extends InMemoryArtifactService {
 *   override async saveArtifact(request: SaveArtifactRequest): Promise<number> {
 *     const version = await super.saveArtifact(request);
 *     console.log(`${request.filename}, version ${version}`);
 *     return version;
 *   }
 * }
 * const service: BaseArtifactService = new LoggingArtifactService();
 * const artifact = {inlineData: {mimeType: 'image/png', data: 'iVBORw0KGgo='}};
 * await service.saveArtifact({appName: 'demo', userId: 'ada', sessionId: 's', filename: 'chart.png', artifact});
 * ```
 */
export abstract class BaseArtifactService {
  /**
   * Saves a part as a file's next version, as it is when this is called. Resolves with the version: 0 for the first, then one more each time.
   *
   * @throws {@link InvalidOptionError} naming the path, where JSON cannot hold the part; nothing is stored then
   */
  abstract saveArtifact(request: SaveArtifactRequest): Promise<number>;

  /** One version of a file, or `undefined` where there is no such file or version. */
  abstract loadArtifact(request: LoadArtifactRequest): Promise<Part | undefined>;

  /** The names of the session's files and of its user's, these with their `user:`, in the order of their UTF-16 code units. */
  abstract listArtifactKeys(request: ListArtifactKeysRequest): Promise<string[]>;

  /** Deletes all versions of a file; it is no error if there is none. A file saved under the name later starts at version 0 again. */
  abstract deleteArtifact(request: DeleteArtifactRequest): Promise<void>;

  /** The versions of a file in rising order, empty where there is no such file. */
  abstract listVersions(request: ListVersionsRequest): Promise<number[]>;
}

/** What the name of a file begins with that belongs to the user and not to one session. */
export const USER_PREFIX = 'user:';
