import {execFile} from 'node:child_process';
import {promisify} from 'node:util';

import {expect, test} from 'vitest';

import {GeminiLiveServer} from '../../lib/testing/index.ts';
import {rawServer, stream, text} from './raw-server.ts';

/** Runs a module in a fresh process, and says which packages it loaded. */
async function packagesLoadedBy(code: string, url: string): Promise<string[]> {
  const watch = `
    import {registerHooks} from 'node:module';
    const seen = new Set();
    registerHooks({resolve(specifier, context, next) {
      if (/^[@a-z]/.test(specifier) && !/^(node|file|data):/.test(specifier)) seen.add(specifier);
      return next(specifier, context);
    }});
    const {Gemini} = await import(${JSON.stringify(new URL('../../lib/gemini/index.ts', import.meta.url).href)});
    const url = ${JSON.stringify(url)};
    const ask = {contents: [{role: 'user', parts: [{text: 'hi'}]}], config: {}};
    ${code}
    console.log(JSON.stringify([...seen]));
  `;
  const {stdout} = await promisify(execFile)(process.execPath, ['--input-type=module', '--no-warnings', '--eval', watch], {
    cwd: new URL('../..', import.meta.url),
  });
  return JSON.parse(stdout) as string[];
}

const call = `for await (const _ of model.generateContentAsync(ask, true));`;

test('genai is not loaded before the first call', async () => {
  await using server = await rawServer(stream(text('one', 'STOP')));
  const loaded = await packagesLoadedBy(`new Gemini({model: 'm', apiKey: 'KEY'});`, server.url);
  expect(loaded).toEqual(['abort-controller-x']);
});

test('an API key loads the web entry alone', async () => {
  await using server = await rawServer(stream(text('one', 'STOP')));
  const loaded = await packagesLoadedBy(
    `const model = new Gemini({model: 'm', apiKey: 'KEY', httpOptions: {baseUrl: url}}); ${call}`,
    server.url,
  );
  expect(server.requests).toHaveLength(1);
  expect(loaded).toContain('@google/genai/web');
  expect(loaded).not.toContain('@google/genai');
  expect(loaded).not.toContain('google-auth-library');
  expect(loaded).not.toContain('ws');
});

test('a live connection with an API key loads `ws`, and neither genai nor google-auth-library', async () => {
  await using server = await GeminiLiveServer.start();
  const loaded = await packagesLoadedBy(
    `const model = new Gemini({model: 'm', apiKey: 'KEY', httpOptions: {baseUrl: url}}); await (await model.connect(ask)).close();`,
    server.url,
  );
  expect(server.sessions).toHaveLength(1);
  // What follows is what `ws` itself asks for.
  expect(loaded.slice(0, 2)).toEqual(['abort-controller-x', 'ws']);
  expect(loaded.filter((name) => name.includes('google'))).toEqual([]);
});

test('a process ends by itself after a reader broke out of a stream', async () => {
  await using server = await rawServer((response) => {
    response.writeHead(200, {'Content-Type': 'text/event-stream'});
    response.write('data: {"candidates": [{"content": {"parts": [{"text": "one"}]}}]}\r\n\r\n');
  });
  await packagesLoadedBy(
    `const model = new Gemini({model: 'm', apiKey: 'KEY', httpOptions: {baseUrl: url}}); for await (const _ of model.generateContentAsync(ask, true)) break;`,
    server.url,
  );
  expect(await (await server.request(0)).closed).toBe('closed early');
});
