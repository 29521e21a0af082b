import {equal} from 'node:assert/strict';
import {existsSync} from 'node:fs';
import {readFile} from 'node:fs/promises';
import {fileURLToPath} from 'node:url';
import {gzipSync} from 'node:zlib';
import {build} from 'esbuild';
import {atMost, type Data, type Scenario} from '../scenario.ts';

const ROOT = new URL('../..', import.meta.url);
const CORE = ['Runner', 'LlmAgent', 'FunctionTool', 'InMemoryRunner'];
/** What the core must not reach, by the start of a path or a specifier. */
const FORBIDDEN = ['node_modules/@google/genai', 'node_modules/zod', 'node:'];

export const size: Scenario = {
  question: `What it weighs: the core (${CORE.join(', ')}) bundled and minified, and the packages that a user installs`,
  subjects: ['sluice'],
  figures: [
    {label: 'core, kB', key: 'kb'},
    {label: 'core, kB gzipped', key: 'gzipped', budgets: [atMost(25, 'gzipped')]},
    {label: 'modules of genai, zod or node: in it', key: 'forbidden', digits: 0, budgets: [atMost(0, 'forbidden')]},
    {label: 'packages installed', key: 'packages', digits: 0, budgets: [atMost(60, 'packages')]},
    {label: 'of them with a native build', key: 'native', digits: 0, budgets: [atMost(0, 'native')]},
  ],
  async measure(): Promise<Data> {
    return {...(await bundle()), ...(await installed())};
  },
};

async function bundle(): Promise<Data> {
  const {outputFiles, metafile} = await build({
    stdin: {contents: `export {${CORE.join(', ')}} from 'sluice';`, resolveDir: fileURLToPath(ROOT)},
    bundle: true,
    minify: true,
    write: false,
    metafile: true,
    format: 'esm',
    platform: 'neutral',
    mainFields: ['module', 'main'],
    // Loaded at the first call of a model that is named by a string.
    external: ['sluice/*', 'node:*'],
  });
  const [{contents} = {contents: new Uint8Array()}] = outputFiles;
  equal(contents.length > 1000, true);
  const names = Object.entries(metafile.inputs).flatMap(([path, {imports}]) => [path, ...imports.map((it) => it.path)]);
  const forbidden = new Set(names.filter((name) => FORBIDDEN.some((start) => name.startsWith(start))));
  return {kb: contents.length / 1000, gzipped: gzipSync(contents, {level: 9}).length / 1000, forbidden: forbidden.size};
}

/** Counts from the lock file, the package itself included. */
async function installed(): Promise<Data> {
  const {packages} = JSON.parse(await readFile(new URL('package-lock.json', ROOT), 'utf8')) as {packages: Record<string, Locked>};
  const ours = Object.entries(packages).filter(
    ([path, {dev, devOptional, peer, optional}]) => path !== '' && !(dev ?? devOptional ?? peer ?? optional),
  );
  const native = ours.filter(([path]) => existsSync(new URL(`${path}/binding.gyp`, ROOT)));
  return {packages: ours.length + 1, native: native.length};
}

interface Locked {
  readonly dev?: boolean;
  readonly devOptional?: boolean;
  readonly peer?: boolean;
  readonly optional?: boolean;
}
