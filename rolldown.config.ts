import {globSync, readFileSync} from 'node:fs';
import {resolve} from 'node:path';
import {defineConfig, type RolldownOptions} from 'rolldown';

/** One file in `dist/` for each entry of the exports map, for what a worker thread starts with, for hosts without threads and for the command. */
const entries = globSync(['lib/index.ts', 'lib/*/index.ts', 'lib/workers/{thread,no-threads}.ts', 'lib/cli/main.ts']);

/** The files that are loaded with one, itself included. */
function loadedWith(file: string, known = new Set<string>()): Set<string> {
  if (known.has(file)) return known;
  known.add(file);
  const imports = readFileSync(file, 'utf8').matchAll(/^(?:import|export) (?!type )[^;]*? from '(\.[^']+)';/gm);
  for (const [, specifier = ''] of imports) loadedWith(resolve(file, '..', specifier), known);
  return known;
}

// Every file that Node opens takes its time: what is loaded with the core is two, of which a thread and the small entries need one.
const core = loadedWith(resolve('lib/index.ts'));
const ground = new Set<string>();
for (const file of ['workers/thread', 'arguments/index', 'files/index', 'lambda/index', 'node/index'])
  loadedWith(resolve(`lib/${file}.ts`), ground);
const groups = [
  {name: 'ground', test: (id: string) => core.has(id) && ground.has(id), priority: 1},
  {name: 'core', test: (id: string) => core.has(id)},
];

const config: RolldownOptions = defineConfig({
  input: Object.fromEntries(entries.map((file) => [file.slice('lib/'.length, -'.ts'.length), file])),
  // Packages stay imports, and so do Sluice's own entries where one loads another lazily. Only what the compiler itself brings comes in.
  external: (id) => /^(?!@oxc-project\/)[a-z@]/.test(id),
  platform: 'neutral',
  tsconfig: 'tsconfig.json',
  transform: {target: 'node22'},
  output: {
    dir: 'dist',
    format: 'esm',
    chunkFileNames: 'chunks/[name]-[hash].js',
    codeSplitting: {groups},
    sourcemap: true,
    sourcemapExcludeSources: true,
    // It stays readable: names, lines and comments are kept. What a user's bundler makes of it is smaller all the same.
    minify: {compress: true, mangle: false, codegen: {removeWhitespace: false}},
  },
});

export default config;
