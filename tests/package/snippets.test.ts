import {execFileSync} from 'node:child_process';
import {existsSync} from 'node:fs';
import {mkdtemp, rm, writeFile} from 'node:fs/promises';
import {join} from 'node:path';
import {afterAll, beforeAll, describe, expect, test} from 'vitest';
import {entries, indexOf, list, read, root, run} from './project.ts';

interface Snippet {
  /** The file that it stands in, and its number there. */
  readonly name: string;
  readonly code: string;
  /** What it prints, where the text after it says so. */
  readonly output?: string | undefined;
}

const examples = list('lib/**/*.ts').flatMap(examplesIn);
const texts = list('README.md', 'docs/*.md').flatMap(blocksIn);

describe('examples in comments and in texts', () => {
  let folder = '';

  beforeAll(async () => {
    // Inside the project, so that `sluice` and the schema libraries resolve as they do for a user.
    folder = await mkdtemp(join(root, '.snippets-'));
    for (const {name, code} of [...examples, ...texts]) await writeFile(join(folder, name), `${code}\nexport {};\n`);
    const compilerOptions = {noUnusedLocals: false, noUnusedParameters: false, isolatedDeclarations: false, declaration: false};
    await writeFile(join(folder, 'tsconfig.json'), JSON.stringify({extends: '../tsconfig.json', compilerOptions, include: ['*.ts']}));
  });

  afterAll(async () => {
    if (folder) await rm(folder, {recursive: true, force: true});
  });

  test('compile', async () => {
    expect(examples.length + texts.length).toBeGreaterThan(0);
    await run('tsc', ['-p', folder, '--pretty', 'false']);
  }, 120_000);

  test.each(texts.filter(({output}) => output !== undefined))(
    '$name prints what the text says',
    async ({name, output}) => {
      expect((await run('node', [join(folder, name)])).trimEnd()).toBe(output);
    },
    60_000,
  );
});

test('every name that an entry exports has a comment', () => {
  const exported = entries().flatMap((entry) => namesOf(indexOf(entry)));
  const sources = list('lib/**/*.ts').map(read);
  const declaration = (name: string): RegExp =>
    new RegExp(`\\*/\\nexport (?:abstract |async )*(?:class|const|function\\*?|interface|type) ${name}\\b`);
  const words = new Set(namesOf('lib/content.ts'));
  expect(exported.filter((name) => !words.has(name) && !sources.some((source) => declaration(name).test(source)))).toEqual([]);
});

test('every link in README to a file of the project leads somewhere', () => {
  const targets = [...read('README.md').matchAll(/\]\((?!https?:)([^)#]+)/g)].map(([, target = '']) => target);
  expect(targets.filter((target) => !existsSync(join(root, target)))).toEqual([]);
});

test('no text of the project names a path of a machine', () => {
  const path = new RegExp(`(?:^|[\\s'"\`(=])/(?:${['work', 'root', 'home', 'tmp', 'Users'].join('|')})/\\w`, 'm');
  const texts = list('lib/**/*.*', 'tests/**/*.{ts,md,json}', 'bench/**/*.*', 'examples/**/*.*', '*.{md,json,ts}', '.ci/*');
  expect(texts.filter((file) => path.test(read(file)))).toEqual([]);
  if (!existsSync(join(root, '.git'))) return;
  const messages = execFileSync('git', ['log', '--format=%B'], {cwd: root, encoding: 'utf8'});
  expect(messages.split('\n').filter((line) => path.test(line))).toEqual([]);
});

/** The fenced blocks under `@example` in a file's comments. */
function examplesIn(file: string): Snippet[] {
  const comments = read(file).match(/^ *\/\*\*[\s\S]*?\*\//gm) ?? [];
  const blocks = comments
    .map((comment) => comment.replaceAll(/^ *\* ?/gm, ''))
    .flatMap((comment) => [...comment.matchAll(/^```ts\n([\s\S]*?)^```/gm)]);
  return blocks.map(([, code = ''], index) => ({name: nameFor(file, index), code}));
}

/** The fenced blocks of a Markdown file; a `text` block right after one is what it prints. */
function blocksIn(file: string): Snippet[] {
  const blocks = read(file).matchAll(/^```ts\n([\s\S]*?)^```\n(?:\n```text\n([\s\S]*?)\n```)?/gm);
  return [...blocks].map(([, code = '', output], index) => ({name: nameFor(file, index), code, output}));
}

function nameFor(file: string, index: number): string {
  return `${file.replaceAll(/[^a-zA-Z]+/g, '-')}-${index + 1}.ts`;
}

function namesOf(index: string): string[] {
  return [...read(index).matchAll(/\{([^}]*)\}/g)].flatMap(([, names = '']) =>
    names.split(',').map((name) => name.trim().replace(/^(?:type |.* as )/, '')),
  );
}
