import {mkdir, mkdtemp, readFile, readdir, rm, symlink, writeFile} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {publint} from 'publint';
import {formatMessage} from 'publint/utils';
import {afterAll, beforeAll, describe, expect, test} from 'vitest';
import {entries, root, run, specifier} from './project.ts';

/** What a user's first program does: an agent, a tool, a model; here a scripted one, so that no network is needed. */
const program = `
import {FunctionTool, InMemoryRunner, LlmAgent, stringifyContent} from 'sluice';
import {ScriptedLlm, functionCalls} from 'sluice/testing';

const model = new ScriptedLlm({steps: [functionCalls({name: 'get_weather', args: {city: 'Paris'}}), 'Sunny in Paris.']});
const getWeather = new FunctionTool({name: 'get_weather', description: 'Weather of a city.', execute: () => ({sky: 'sunny'})});
const agent = new LlmAgent({name: 'weather', model, instruction: 'Answer briefly.', tools: [getWeather]});
const runner = new InMemoryRunner({agent, appName: 'demo'});
const session = await runner.sessionService.createSession({appName: 'demo', userId: 'u'});
const newMessage = {role: 'user', parts: [{text: 'Weather in Paris?'}]};
for await (const event of runner.runAsync({userId: 'u', sessionId: session.id, newMessage})) {
  const text = stringifyContent(event);
  if (text) console.log(text);
}
await runner.close();
`;

describe('the tarball that npm pack makes', () => {
  let folder = '';

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'sluice-'));
    await run('npm', ['pack', '--ignore-scripts', '--silent', '--pack-destination', folder]);
    const tarball = (await readdir(folder)).find((file) => file.endsWith('.tgz'));
    await writeFile(join(folder, 'package.json'), JSON.stringify({name: 'user', private: true, type: 'module'}));
    const quiet = ['--no-audit', '--no-fund', '--prefer-offline', '--loglevel=error'];
    await run('npm', ['install', ...quiet, join(folder, tarball ?? 'no tarball')], {cwd: folder});
  }, 180_000);

  afterAll(async () => {
    if (folder) await rm(folder, {recursive: true, force: true});
  });

  test('holds the build, the sources that its maps name, and the texts', async () => {
    const names = await readdir(join(folder, 'node_modules/sluice'));
    expect(names.toSorted()).toEqual(['CHANGELOG.md', 'LICENSE', 'README.md', 'dist', 'docs', 'lib', 'package.json']);
  });

  test('runs an agent in an empty folder', async () => {
    await writeFile(join(folder, 'program.js'), program);
    expect(await run('node', ['program.js'], {cwd: folder})).toBe('Sunny in Paris.\n');
  });

  test('every entry loads without the optional packages', async () => {
    const names = entries().map(specifier);
    const code = `for (const name of ${JSON.stringify(names)}) if (Object.keys(await import(name)).length > 0) console.log(name)`;
    expect(await run('node', ['--input-type=module', '--eval', code], {cwd: folder})).toBe(names.map((name) => `${name}\n`).join(''));
  });

  test('brings at most 60 packages, none that is built on install', async () => {
    const lock = JSON.parse(await readFile(join(folder, 'node_modules/.package-lock.json'), 'utf8')) as {packages: Record<string, object>};
    expect(Object.keys(lock.packages).length).toBeLessThanOrEqual(60);
    const files = await readdir(join(folder, 'node_modules'), {recursive: true});
    expect(files.filter((file) => /(^|[\\/])binding\.gyp$|\.node$/.test(file))).toEqual([]);
  });

  test.each([
    {module: 'nodenext', moduleResolution: 'nodenext'},
    {module: 'esnext', moduleResolution: 'bundler'},
  ])(
    'its types hold for a user whose moduleResolution is $moduleResolution',
    async (resolution) => {
      const user = await mkdtemp(join(folder, 'types-'));
      const imports = entries().map((entry, index) => `import * as e${index} from '${specifier(entry)}';`);
      const uses = entries().map((_, index) => `export const n${index}: object = e${index};`);
      await writeFile(join(user, 'entries.ts'), [...imports, ...uses].join('\n'));
      await writeFile(join(user, 'program.ts'), program);
      await mkdir(join(user, 'node_modules/@types'), {recursive: true});
      await symlink(join(root, 'node_modules/@types/node'), join(user, 'node_modules/@types/node'), 'dir');
      const compilerOptions = {
        ...resolution,
        target: 'es2023',
        lib: ['es2023', 'esnext.disposable', 'dom', 'dom.asynciterable'],
        types: ['node'],
        strict: true,
        exactOptionalPropertyTypes: true,
        skipLibCheck: false,
        noEmit: true,
      };
      await writeFile(join(user, 'tsconfig.json'), JSON.stringify({compilerOptions, files: ['entries.ts', 'program.ts']}));
      const output = await run('tsc', ['-p', user, '--pretty', 'false'], {cwd: folder}).catch((error: unknown) => String(error));
      // What other packages' own declarations get wrong is not ours to judge.
      const ours = output.split('\n').filter((line) => /error TS/.test(line) && !/node_modules\/(?!sluice\/)/.test(line));
      expect(ours).toEqual([]);
    },
    120_000,
  );
});

test('publint finds nothing', async () => {
  const {messages, pkg} = await publint({pkgDir: root, strict: true});
  expect(messages.map((message) => formatMessage(message, pkg, {color: false}))).toEqual([]);
}, 60_000);
