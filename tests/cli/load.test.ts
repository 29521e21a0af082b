import {cp} from 'node:fs/promises';
import {basename, join} from 'node:path';
import {expect, test} from 'vitest';
import {root} from '../package/project.ts';
import {folderOf, sluice} from './sluice.ts';

/** An agent that says what a piece of code comes to. */
const agent = (code: string): string => `
import {LlmAgent} from 'sluice';
import {ScriptedLlm} from 'sluice/testing';
const said: string = String(${code});
export const rootAgent: LlmAgent = new LlmAgent({name: 'sayer', model: new ScriptedLlm({steps: [said]})});
`;

test.each([
  ['nothing', '', /^sluice: agent\.ts exports nothing: export the agent as `rootAgent`, or by default\n$/],
  ['other things', 'export const a = 1, b = 2;', /^sluice: agent\.ts exports no agent \(only a, b\): export the agent/],
  [
    'the agent under another name',
    `${agent('1')} export {rootAgent as weather};`.replace('export const', 'const'),
    /exports the agent `weather` under that name only/,
  ],
  ['what is no agent', 'export const rootAgent = () => {};', /exports function rootAgent where an agent was expected/],
  [
    "another kit's agent",
    "export default {name: 'a', async *runAsync() {}};",
    /exports an agent of another package: extend the agents of 'sluice'/,
  ],
  [
    'an error of its own',
    'const limit = 1;\nthrow new RangeError(`too low: ${limit}`);',
    /^sluice: Cannot load agent\.ts: RangeError: too low: 1\n {4}at file:\/\/\S+\/agent\.ts:2:7\n$/,
  ],
  [
    'an enum',
    'export enum Colour {Red}',
    /^sluice: Cannot load agent\.ts: agent\.ts:1\nexport enum Colour[^]*not supported in strip-only mode\nNode runs TypeScript by erasing its types; enums/,
  ],
  ['a syntax error', 'export const = 1;', /^sluice: Cannot load agent\.ts: agent\.ts:1\nexport const = 1;\n/],
  [
    'a package that is not there',
    "import 'no-such-package';",
    /Cannot find package 'no-such-package' imported from \S+agent\.ts \(npm install no-such-package\)\n$/,
  ],
  [
    'a file without its ending',
    "import './tools';",
    /Cannot find module '\S+tools' imported from \S+ \(an import names its file whole: `\.\/tools\.ts`\)\n$/,
  ],
  [
    'an await that never ends',
    `await new Promise(() => {});\n${agent('1')}`,
    /^sluice: Cannot load agent\.ts: it, or a module that it imports, awaits something at its top level that never settles\n$/,
  ],
  ['a name that is not there', "import {LlmAgnt} from 'sluice'; new LlmAgnt();", /does not provide an export named 'LlmAgnt'\n$/],
])('run says what is wrong with a file with %s', async (_name, text, message) => {
  await using folder = await folderOf({'agent.ts': text});
  const {code, stdout, stderr} = await sluice(['run', 'agent.ts', '-m', 'hello'], [], {cwd: folder.path});
  expect({code, stdout}).toEqual({code: 1, stdout: ''});
  expect(stderr).toMatch(message);
  expect(stderr).not.toContain('node:internal');
});

test.each([
  ['agent.tsx', /^sluice: There is no agent\.tsx in /],
  ['notes.txt', /^sluice: notes\.txt is no file of JavaScript or TypeScript/],
  ['.', /^sluice: \. is a folder without agent\.ts or index\.ts: name one agent in it, such as weather\.ts\n$/],
  ['empty', /^sluice: empty is a folder without agent\.ts or index\.ts\n$/],
])('run says what is wrong with %s', async (path, message) => {
  await using folder = await folderOf({'weather.ts': agent('1'), 'notes.txt': '', 'empty/notes.txt': ''});
  const {code, stdout, stderr} = await sluice(['run', path, '-m', 'hello'], [], {cwd: folder.path});
  expect({code, stdout}).toEqual({code: 1, stdout: ''});
  expect(stderr).toMatch(message);
});

test('run names the copy of sluice that an agent comes from, where it is not its own', async () => {
  // A package of its own: within this one `sluice` is this one.
  await using folder = await folderOf({'agent.ts': agent('1'), 'package.json': '{"type": "module"}'});
  const copy = join(folder.path, 'node_modules/sluice');
  await cp(join(root, 'dist'), join(copy, 'dist'), {recursive: true});
  await cp(join(root, 'package.json'), join(copy, 'package.json'));
  const {code, stderr} = await sluice(['run', 'agent.ts', '-m', 'hello'], [], {cwd: folder.path});
  expect(code).toBe(1);
  expect(stderr).toBe(
    `sluice: agent.ts exports an agent of another copy of sluice, in ${copy}, while this command is that in ${root}: ` +
      "run `npx sluice` in the agent's own project\n",
  );
});

test('run names the Node that it needs where that does not run TypeScript', async () => {
  await using folder = await folderOf({'agent.ts': agent('1')});
  const options = {cwd: folder.path, nodeArgs: ['--no-strip-types']};
  const {code, stderr} = await sluice(['run', 'agent.ts', '-m', 'hello'], [], options);
  expect(code).toBe(1);
  expect(stderr).toMatch(/Node \S+ does not run TypeScript by itself: use Node 22\.18 or newer, or load a compiler/);
});

test('run takes a folder with an agent.ts or index.ts, and names its app after it', async () => {
  await using folder = await folderOf({'index.ts': agent("'found'")});
  const session = ['--session', join(folder.path, 'chat.json')];
  expect(await sluice(['run', folder.path, ...session, '-m', 'hello'])).toEqual({code: 0, stdout: 'found\n', stderr: ''});
  const {stdout} = await sluice(['run', folder.path, '--json', '-m', 'hello']);
  expect(JSON.parse(stdout)).toMatchObject({author: 'sayer'});
  expect(basename(folder.path)).toMatch(/^\.cli-/);
});

test('.env next to the agent is read before it is loaded, then that of the working directory; what is set already stays', async () => {
  const code = "[process.env['NEAR'], process.env['BOTH'], process.env['HERE'], process.env['SET']]";
  await using folder = await folderOf({
    'agents/agent.ts': agent(code),
    'agents/.env': 'NEAR=near\nBOTH=near\nSET=near',
    '.env': 'HERE=here\nBOTH=here',
  });
  const {stdout} = await sluice(['run', 'agents', '-m', 'hello'], [], {cwd: folder.path, env: {SET: 'shell'}});
  expect(stdout).toBe('near,near,here,shell\n');
});
