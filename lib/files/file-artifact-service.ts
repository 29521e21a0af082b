import {randomUUID} from 'node:crypto';
import {mkdir, readdir, rename, rm, stat} from 'node:fs/promises';
import {join, resolve} from 'node:path';
import {fileURLToPath} from 'node:url';
import {
  BaseArtifactService,
  type DeleteArtifactRequest,
  type ListArtifactKeysRequest,
  type ListVersionsRequest,
  type LoadArtifactRequest,
  type SaveArtifactRequest,
} from '../artifacts/base-artifact-service.ts';
import {checkArtifact, checkFile, checkScope, checkVersion} from '../artifacts/check-artifact-arguments.ts';
import type {Part} from '../content.ts';
import {expectOption, InvalidOptionError} from '../errors.ts';
import {checkedCopy} from '../schema/json-copy.ts';
import {FILE_PREFIX, fileFolder, sessionFolder, userFolder} from './artifact-paths.ts';
import {hasCode, ifThere} from './disk-errors.ts';
import {readFilename, readVersion, writeVersion} from './version-folder.ts';

/**
 * Artifacts in a folder of this machine, for any number of processes at once: each version is a folder, with the bytes or the text as a file
 * that any program opens, and `part.json` beside it for the rest.
 *
 * A version is there with all that belongs to it or not at all, whenever the process or the machine ends: it is written aside, flushed, and
 * moved to its place in one step, which fails where another writer has taken the number, and then takes the next. What a crash leaves aside
 * is removed by the first save of a later service, once it is a day old. File names are only ever parts of names in the folder: none leads
 * out of it, and none is another file on a disk that ignores case.
 *
 * The methods reject with the error of `node:fs` where the disk refuses (`EACCES`, `ENOSPC` ...; nothing is stored then), and reading with
 * {@link DamagedArtifactError} where somebody else has changed a version.
 *
 * @example
 * ```ts
 * import {InMemoryRunner, LlmAgent} from 'sluice';
 * import {FileArtifactService} from 'sluice/files';
 *
 * const artifactService = new FileArtifactService('./artifacts');
 * const agent = new LlmAgent({name: 'painter', model: 'gemini-2.5-flash'});
 * const runner = new InMemoryRunner({agent, appName: 'demo', artifactService});
 * await artifactService.saveArtifact({
 *   appName: 'demo',
 *   userId: 'ada',
 *   sessionId: 's',
 *   filename: 'dot.png', // becomes artifacts/app-demo/user-ada/session-s/file-dot.png/0/data.png
 *   artifact: {inlineData: {mimeType: 'image/png', data: 'iVBORw0KGgo='}},
 * });
 * ```
 */
export class FileArtifactService extends BaseArtifactService {
  readonly #root: string;
  /** What is written, or deleted, and not yet or no longer in its place. On the same file system, or it could not be moved in one step. */
  readonly #aside: string;
  #swept: Promise<void> | undefined;

  /**
   * @param root - the folder, as a path or a `file:` URL; made when something is saved
   * @throws {@link InvalidOptionError} where it is neither
   */
  constructor(root: string | URL) {
    super();
    this.#root = rootPath(root);
    this.#aside = join(this.#root, 'aside');
  }

  override async saveArtifact(request: SaveArtifactRequest): Promise<number> {
    checkFile(request);
    checkArtifact(request.artifact);
    const part = checkedCopy(request.artifact, 'artifact');
    const {filename} = request;
    const folder = fileFolder(this.#root, request);
    const draft = join(this.#aside, randomUUID());
    // Where it cannot, that is no reason to save nothing.
    await (this.#swept ??= sweep(this.#aside).catch(() => {}));
    try {
      await writeVersion(draft, folder, filename, part);
      return await moveToNextVersion(draft, folder);
    } catch (error) {
      await rm(draft, {recursive: true, force: true});
      throw error;
    }
  }

  override async loadArtifact(request: LoadArtifactRequest): Promise<Part | undefined> {
    checkFile(request);
    checkVersion(request.version);
    const folder = fileFolder(this.#root, request);
    const version = request.version ?? (await versionsIn(folder)).at(-1);
    return version === undefined ? undefined : readVersion(join(folder, String(version)));
  }

  override async listArtifactKeys(request: ListArtifactKeysRequest): Promise<string[]> {
    checkScope(request);
    const filenames: string[] = [];
    for (const owner of [userFolder(this.#root, request), sessionFolder(this.#root, request)]) {
      // One after the other: there may be more files than a process may open.
      for (const name of await entriesOf(owner)) {
        if (!name.startsWith(FILE_PREFIX)) continue;
        const folder = join(owner, name);
        const latest = (await versionsIn(folder)).at(-1);
        const filename = latest === undefined ? undefined : await readFilename(join(folder, String(latest)));
        if (filename !== undefined) filenames.push(filename);
      }
    }
    return filenames.toSorted();
  }

  override async deleteArtifact(request: DeleteArtifactRequest): Promise<void> {
    checkFile(request);
    const folder = fileFolder(this.#root, request);
    if (!(await exists(folder))) return;
    const grave = join(this.#aside, randomUUID());
    await mkdir(this.#aside, {recursive: true});
    // In one step, so that no reader sees some of the versions gone.
    await ifThere(rename(folder, grave));
    await rm(grave, {recursive: true, force: true});
  }

  override async listVersions(request: ListVersionsRequest): Promise<number[]> {
    checkFile(request);
    return versionsIn(fileFolder(this.#root, request));
  }
}

const DAY_MS = 86_400_000;

function rootPath(root: string | URL): string {
  const expected = 'a path or a file: URL';
  const isUrl = root instanceof URL || (typeof root === 'string' && /^[a-z][a-z0-9+.-]+:\/\//i.test(root));
  if (!isUrl) {
    expectOption(typeof root === 'string' && root !== '' && !root.includes('\0'), 'root', expected, root);
    // Now: the process may change its working directory.
    return resolve(root);
  }
  try {
    return fileURLToPath(root);
  } catch (cause) {
    throw new InvalidOptionError('root', expected, String(root), {cause});
  }
}

/** Moves a written version to the next number that is free, and gives that. */
async function moveToNextVersion(draft: string, folder: string): Promise<number> {
  for (let deletions = 0; ;) {
    const version = ((await versionsIn(folder)).at(-1) ?? -1) + 1;
    const place = join(folder, String(version));
    try {
      await mkdir(folder, {recursive: true});
      // Refused where there is a folder with something in it, as every version has.
      await rename(draft, place);
      return version;
    } catch (error) {
      const isTaken = hasCode(error, 'ENOTEMPTY', 'EEXIST') || (hasCode(error, 'EPERM') && (await exists(place)));
      // The folder went in between, with all versions; so often in a row only where it cannot be made, as behind a broken link.
      const isDeleted = hasCode(error, 'ENOENT') && ++deletions < 100;
      if (!isTaken && !isDeleted) throw error;
    }
  }
}

/** The versions in the folder of a file, in rising order. */
async function versionsIn(folder: string): Promise<number[]> {
  const versions = (await entriesOf(folder)).filter((name) => /^(?:0|[1-9]\d*)$/.test(name));
  return versions.map(Number).toSorted((a, b) => a - b);
}

async function exists(path: string): Promise<boolean> {
  return (await ifThere(stat(path))) !== undefined;
}

async function entriesOf(folder: string): Promise<string[]> {
  return (await ifThere(readdir(folder))) ?? [];
}

/** Removes what crashed processes have left: nobody saves or deletes one file for a day. */
async function sweep(aside: string): Promise<void> {
  for (const name of await entriesOf(aside)) {
    const path = join(aside, name);
    const found = await ifThere(stat(path));
    if (found && Date.now() - found.mtimeMs > DAY_MS) await rm(path, {recursive: true, force: true});
  }
}
