import {mkdtemp, rm} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import {join} from 'node:path';

/** A folder of the test's own, which goes when the test is over. */
export async function newFolder(): Promise<AsyncDisposable & {readonly path: string}> {
  const path = await mkdtemp(join(tmpdir(), 'sluice-files-'));
  return {path, [Symbol.asyncDispose]: () => rm(path, {recursive: true, force: true})};
}
