import {
  type ArtifactScope,
  BaseArtifactService,
  type DeleteArtifactRequest,
  type ListArtifactKeysRequest,
  type ListVersionsRequest,
  type LoadArtifactRequest,
  type SaveArtifactRequest,
} from '../../lib/artifacts/base-artifact-service.ts';
import {checkArtifact, checkFile, checkScope, checkVersion} from '../../lib/artifacts/check-artifact-arguments.ts';
import type {Part} from '../../lib/content.ts';
import {checkedCopy, frozenCopy} from '../../lib/schema/json-copy.ts';

/** What such a store may be told to get wrong. Each was seen in a store of somebody's. */
export type Fault =
  | 'keeps one version'
  | 'counts on after a deletion'
  | 'sorts versions as text'
  | 'forgets user:'
  | 'makes one path of the names'
  | 'shares references'
  | 'freezes what it gives'
  | 'copies late'
  | 'drops empty texts'
  | 'throws on a missing version';

interface Row {
  readonly owner: string;
  readonly filename: string;
  readonly version: number;
  readonly body: unknown;
}

/**
 * A store as somebody outside would write it: rows of text, everything found by scanning. With faults it is the store that a conformance
 * suite must catch.
 */
export class TextArtifactService extends BaseArtifactService {
  readonly #faults: ReadonlySet<Fault>;
  readonly #lastVersions = new Map<string, number>();
  #rows: Row[] = [];

  constructor(...faults: Fault[]) {
    super();
    this.#faults = new Set(faults);
  }

  override async saveArtifact(request: SaveArtifactRequest): Promise<number> {
    checkFile(request);
    checkArtifact(request.artifact);
    if (this.#faults.has('copies late')) await Promise.resolve();
    const {filename, artifact} = request;
    const body = this.#faults.has('shares references') ? artifact : JSON.stringify(checkedCopy(artifact, 'artifact'));
    const owner = this.#ownerOf(request);
    const counter = JSON.stringify([owner, filename]);
    const count = this.#faults.has('counts on after a deletion') ? this.#lastVersions.get(counter) : this.#versionsOf(request).length;
    const version = count ?? 0;
    this.#lastVersions.set(counter, version + 1);
    if (this.#faults.has('keeps one version')) await this.deleteArtifact(request);
    this.#rows.push({owner, filename, version, body});
    return version;
  }

  override async loadArtifact(request: LoadArtifactRequest): Promise<Part | undefined> {
    checkFile(request);
    checkVersion(request.version);
    const rows = this.#versionsOf(request);
    const row = request.version === undefined ? rows.at(-1) : rows.find(({version}) => version === request.version);
    if (!row) {
      if (this.#faults.has('throws on a missing version') && rows.length > 0) throw new TypeError('no such version');
      return undefined;
    }
    const part = (typeof row.body === 'string' ? JSON.parse(row.body) : row.body) as Part;
    if (this.#faults.has('drops empty texts') && part.text === '') return undefined;
    return this.#faults.has('freezes what it gives') ? frozenCopy(part) : part;
  }

  override async listArtifactKeys(request: ListArtifactKeysRequest): Promise<string[]> {
    checkScope(request);
    const owners = new Set(['a', 'user:a'].map((filename) => this.#ownerOf({...request, filename})));
    return [...new Set(this.#rows.filter(({owner}) => owners.has(owner)).map(({filename}) => filename))].toSorted();
  }

  override async deleteArtifact(request: DeleteArtifactRequest): Promise<void> {
    checkFile(request);
    const rows = this.#versionsOf(request);
    this.#rows = this.#rows.filter((row) => !rows.includes(row));
  }

  override async listVersions(request: ListVersionsRequest): Promise<number[]> {
    checkFile(request);
    const versions = this.#versionsOf(request).map(({version}) => version);
    // The default order of a list of numbers is that of their digits, which is this fault.
    return this.#faults.has('sorts versions as text') ? versions.toSorted((a, b) => (String(a) < String(b) ? -1 : 1)) : versions;
  }

  #versionsOf(request: ListVersionsRequest): Row[] {
    const owner = this.#ownerOf(request);
    return this.#rows.filter((row) => row.owner === owner && row.filename === request.filename);
  }

  #ownerOf({appName, userId, sessionId, filename}: ArtifactScope & {readonly filename: string}): string {
    const ofUser = filename.startsWith('user:') && !this.#faults.has('forgets user:');
    if (this.#faults.has('makes one path of the names')) return [appName, userId, ofUser ? 'user' : sessionId].join('/');
    return JSON.stringify(ofUser ? [appName, userId] : [appName, userId, sessionId]);
  }
}
