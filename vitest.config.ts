import {fileURLToPath} from 'node:url';
import {defineConfig, type ViteUserConfig} from 'vitest/config';

const lib = (path: string): string => fileURLToPath(new URL(`./lib/${path}`, import.meta.url));

const config: ViteUserConfig = defineConfig({
  resolve: {
    // Tests run on the sources; what a user installs is tested from `dist/` by tests/package.
    alias: [
      {find: /^sluice$/, replacement: lib('index.ts')},
      {find: /^sluice\/(.+)$/, replacement: lib('$1/index.ts')},
    ],
  },
  test: {
    include: ['tests/**/*.test.ts'],
    // Far above what a test takes: two workers may share a busy machine.
    testTimeout: 20_000,
    hookTimeout: 20_000,
    env: {GEMINI_API_KEY: '', GOOGLE_API_KEY: '', GOOGLE_GENAI_USE_VERTEXAI: '', GOOGLE_GEMINI_BASE_URL: ''},
  },
});

export default config;
