import {mkdir, readFile, writeFile} from 'node:fs/promises';
import {basename, dirname, join} from 'node:path';
import type {Part} from '../content.ts';
import {isRecord} from '../schema/is-record.ts';
import {DamagedArtifactError} from './damaged-artifact-error.ts';
import {ifThere} from './disk-errors.ts';

/** What the `part.json` of a version holds. */
interface VersionRecord {
  /** The name that the file was saved under; its folder has that in another spelling. */
  readonly filename: string;
  /** The part, but for what stands in the data file. */
  readonly part: Part;
  /** What stands in the data file: the bytes of the part's `inlineData`, or its `text` in UTF-8. */
  readonly data?: 'inlineData' | 'text';
}

const RECORD_FILE = 'part.json';

/**
 * Writes a version into a folder that nobody reads yet. When this resolves, the disk has it.
 *
 * @param fileFolder - where the version will stand
 */
export async function writeVersion(draft: string, fileFolder: string, filename: string, part: Part): Promise<void> {
  await mkdir(draft, {recursive: true});
  const data = dataOf(part);
  if (data) await writeFile(join(draft, dataFileOf(fileFolder)), data.bytes, {flush: true});
  const record: VersionRecord = {filename, part: data?.rest ?? part, ...(data && {data: data.field})};
  await writeFile(join(draft, RECORD_FILE), JSON.stringify(record), {flush: true});
}

/** The part of a version, or `undefined` where there is no such version. */
export async function readVersion(version: string): Promise<Part | undefined> {
  const record = await readRecord(version);
  if (!record?.data) return record?.part;
  // Nothing there: the file was deleted in between.
  const bytes = await ifThere(readFile(join(version, dataFileOf(dirname(version)))));
  if (!bytes) return undefined;
  const {part, data} = record;
  return data === 'text'
    ? {...part, text: bytes.toString('utf8')}
    : {...part, inlineData: {...part.inlineData, data: bytes.toString('base64')}};
}

/** The name that a version was saved under, or `undefined` where there is no such version. */
export async function readFilename(version: string): Promise<string | undefined> {
  return (await readRecord(version))?.filename;
}

async function readRecord(version: string): Promise<VersionRecord | undefined> {
  const path = join(version, RECORD_FILE);
  const json = await ifThere(readFile(path, 'utf8'));
  if (json === undefined) return undefined;
  let record: unknown;
  try {
    record = JSON.parse(json);
  } catch (cause) {
    throw new DamagedArtifactError(path, {cause});
  }
  if (!isVersionRecord(record)) throw new DamagedArtifactError(path);
  return record;
}

function isVersionRecord(value: unknown): value is VersionRecord {
  return isRecord(value) && typeof value['filename'] === 'string' && isRecord(value['part']);
}

/** Ends as the file's name does, so that a viewer knows what it is. */
function dataFileOf(fileFolder: string): string {
  return `data${/\.[a-z0-9]{1,8}$/.exec(basename(fileFolder))?.[0] ?? ''}`;
}

/** What of a part can stand in a file of its own and come back as it was: not half a surrogate pair, nor an unusual spelling of base64. */
function dataOf(part: Part): {field: 'inlineData' | 'text'; bytes: Buffer; rest: Part} | undefined {
  const {inlineData, text} = part;
  if (inlineData?.data !== undefined) {
    const {data, ...rest} = inlineData;
    const bytes = Buffer.from(data, 'base64');
    return bytes.toString('base64') === data ? {field: 'inlineData', bytes, rest: {...part, inlineData: rest}} : undefined;
  }
  if (text === undefined || !text.isWellFormed()) return undefined;
  const {text: _, ...rest} = part;
  return {field: 'text', bytes: Buffer.from(text, 'utf8'), rest};
}
