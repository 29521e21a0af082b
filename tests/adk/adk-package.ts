import {mkdtemp, rm, writeFile} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {pathToFileURL} from 'node:url';
import {run} from '../package/project.ts';
import type {Names} from './stage.ts';

/** `@google/adk`, installed into a folder of its own: it brings 173 packages that nothing else here needs. */
export interface AdkPackage extends AsyncDisposable {
  readonly folder: string;
  readonly names: Names;
}

export async function installAdk(): Promise<AdkPackage> {
  const folder = await mkdtemp(join(tmpdir(), 'adk-'));
  await writeFile(join(folder, 'package.json'), JSON.stringify({name: 'adk-user', private: true, type: 'module'}));
  const quiet = ['--ignore-scripts', '--no-audit', '--no-fund', '--prefer-offline', '--loglevel=error'];
  await run('npm', ['install', ...quiet, '@google/adk@2.0.0'], {cwd: folder});
  const entry = pathToFileURL(join(folder, 'node_modules/@google/adk/dist/esm/index.js'));
  const names = (await import(entry.href)) as Names & {setLogLevel(level: number): void; LogLevel: {ERROR: number}};
  names.setLogLevel(names.LogLevel.ERROR);
  return {folder, names, [Symbol.asyncDispose]: async () => rm(folder, {recursive: true, force: true})};
}
