import {globSync} from 'node:fs';
import {defineConfig, type RolldownOptions} from 'rolldown';

/** One file in `dist/` for each entry of the exports map, for what a worker thread starts with, for hosts without threads and for the command. */
const entries = globSync(['lib/index.ts', 'lib/*/index.ts', 'lib/workers/{thread,no-threads}.ts', 'lib/cli/main.ts']);

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
    sourcemap: true,
    sourcemapExcludeSources: true,
    // It stays readable: names, lines and comments are kept. What a user's bundler makes of it is smaller all the same.
    minify: {compress: true, mangle: false, codegen: {removeWhitespace: false}},
  },
});

export default config;
