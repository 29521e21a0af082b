import {cp, mkdir, mkdtemp, rm, symlink} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import {dirname, join} from 'node:path';
import {fileURLToPath} from 'node:url';
import {built, read, root} from '../package/project.ts';

const programs = fileURLToPath(new URL('programs', import.meta.url));

/** A user's folder: these tests' programs, with what is built of Sluice and the packages that it needs as its modules. */
export async function linkedFolder(): Promise<{path: string} & AsyncDisposable> {
  built('');
  const path = await mkdtemp(join(tmpdir(), 'sluice-'));
  await cp(programs, path, {recursive: true});
  // A copy, not a link: Bun would go by the project's own tsconfig.json to the sources.
  const modules = join(path, 'node_modules');
  await mkdir(join(modules, 'sluice'), {recursive: true});
  for (const part of ['package.json', 'dist']) await cp(join(root, part), join(modules, 'sluice', part), {recursive: true});
  const {dependencies} = JSON.parse(read('package.json')) as {dependencies: Record<string, string>};
  for (const name of Object.keys(dependencies)) {
    await mkdir(dirname(join(modules, name)), {recursive: true});
    await symlink(join(root, 'node_modules', name), join(modules, name), 'junction');
  }
  return {path, [Symbol.asyncDispose]: () => rm(path, {recursive: true, force: true})};
}
