import {expect, test} from 'vitest';
import {FunctionTool, InMemoryArtifactService, type Content, type Part} from '../../lib/index.ts';
import {LoadArtifactsTool} from '../../lib/tools/load-artifacts-tool.ts';
import {functionCalls, type ScriptedStep} from '../../lib/testing/index.ts';
import {expectValid, lines, stage, type Stage} from '../stories/kit.ts';

const scope = {appName: 'app', userId: 'u', sessionId: 's'};
const base64 = (text: string): string => Buffer.from(text).toString('base64');

async function storeOf(files: Readonly<Record<string, Part>>): Promise<InMemoryArtifactService> {
  const service = new InMemoryArtifactService();
  for (const [filename, artifact] of Object.entries(files)) await service.saveArtifact({...scope, filename, artifact});
  return service;
}

async function staged(files: Readonly<Record<string, Part>>, steps: readonly ScriptedStep[]): Promise<Stage> {
  const other = new FunctionTool({name: 'other', description: 'Something else.', execute: () => 'done'});
  return stage({steps, agent: {tools: [other, new LoadArtifactsTool()]}, runner: {artifactService: await storeOf(files)}});
}

const asks = (...names: unknown[]): ScriptedStep => functionCalls({id: '1', name: 'load_artifacts', args: {artifact_names: names}});

/** The contents behind the last function response of a request. */
function shown(contents: readonly Content[] = []): Content[] {
  const at = contents.findLastIndex(({parts}) => parts?.some((part) => part.functionResponse));
  return contents.slice(at + 1);
}

test('the model is told the names of the files, and sees what it asks for in its next request only', async () => {
  const files = {'a.txt': {text: 'Text of a'}, 'user:b.txt': {text: 'Text of b'}};
  const it = await staged(files, [asks('a.txt', 'user:b.txt'), functionCalls({id: '2', name: 'other'}), 'Done.']);
  const status = 'The contents follow, this once. Call load_artifacts again to see them again.';
  expect(await lines(it.run())).toEqual([
    'root: load_artifacts({"artifact_names":["a.txt","user:b.txt"]})',
    `root: load_artifacts=${JSON.stringify({artifact_names: ['a.txt', 'user:b.txt'], status})}`,
    'root: other({})',
    'root: other={"result":"done"}',
    'root: "Done."',
  ]);
  const [first, second, third] = it.model.requests;
  expect(first?.config.systemInstruction).toMatchInlineSnapshot(`
    "There are these files:
    ["a.txt","user:b.txt"]
    Before you answer a question about one of them, call \`load_artifacts\` to see it, also where you have seen it before: it may have changed."
  `);
  expect([shown(second?.contents), shown(third?.contents)]).toEqual([
    [
      {role: 'user', parts: [{text: 'Artifact a.txt is:'}, {text: 'Text of a'}]},
      {role: 'user', parts: [{text: 'Artifact user:b.txt is:'}, {text: 'Text of b'}]},
    ],
    [],
  ]);
  const stored = await it.stored();
  expectValid(stored);
  expect(JSON.stringify(stored)).not.toContain('Text of');
});

test('a call among others of its batch counts, at any place, and a file that is asked for twice is shown once', async () => {
  const load = (id: string) => ({id, name: 'load_artifacts', args: {artifact_names: ['a.txt']}});
  const it = await staged({'a.txt': {text: 'Text of a'}}, [functionCalls({id: '0', name: 'other'}, load('1'), load('2')), 'Done.']);
  await lines(it.run());
  expect(shown(it.model.requests[1]?.contents)).toEqual([{role: 'user', parts: [{text: 'Artifact a.txt is:'}, {text: 'Text of a'}]}]);
});

test("a name without user: finds the session's file, and else the user's", async () => {
  const files = {'a.txt': {text: 'of the session'}, 'user:a.txt': {text: 'of the user'}, 'user:b.txt': {text: 'b of the user'}};
  const it = await staged(files, [asks('a.txt', 'b.txt'), 'Done.']);
  await lines(it.run());
  expect(shown(it.model.requests[1]?.contents).map(({parts}) => parts?.[1]?.text)).toEqual(['of the session', 'b of the user']);
});

test('a file that is not there, and a name that none can have, are told to the model and end nothing', async () => {
  const it = await staged({'a.txt': {text: 'a'}}, [asks('none.txt', '', 'user:', '../../etc/passwd'), 'Done.']);
  expect((await lines(it.run())).at(-1)).toBe('root: "Done."');
  const names = ['none.txt', '', 'user:', '../../etc/passwd'];
  expect(shown(it.model.requests[1]?.contents)).toEqual(
    names.map((name) => ({role: 'user', parts: [{text: `Artifact ${name} is:`}, {text: 'there is no such file.'}]})),
  );
});

test.each<[string, Part, Part]>([
  ['an image', {inlineData: {mimeType: 'image/png', data: 'iVBORw0KGgo='}}, {inlineData: {mimeType: 'image/png', data: 'iVBORw0KGgo='}}],
  ['a PDF', {inlineData: {mimeType: 'application/pdf', data: 'JVBE'}}, {inlineData: {mimeType: 'application/pdf', data: 'JVBE'}}],
  ['a URI', {fileData: {mimeType: 'text/csv', fileUri: 'gs://b/c'}}, {fileData: {mimeType: 'text/csv', fileUri: 'gs://b/c'}}],
  ['bytes of text', {inlineData: {mimeType: 'text/csv; charset=utf-8', data: base64('ä,b\n')}}, {text: 'ä,b\n'}],
  ['JSON', {inlineData: {mimeType: 'application/json', data: base64('{"a": 1}')}}, {text: '{"a": 1}'}],
  ['JSON of a kind', {inlineData: {mimeType: 'application/ld+json', data: base64('{}')}}, {text: '{}'}],
  ['base64 for URLs', {inlineData: {mimeType: 'text/plain', data: Buffer.from('>>>???').toString('base64url')}}, {text: '>>>???'}],
  [
    'anything else',
    {inlineData: {mimeType: 'application/zip', data: base64('PK..')}},
    {text: '[file is of type application/zip, 4 bytes, which you cannot look into.]'},
  ],
  ['no type', {inlineData: {data: ''}}, {text: '[file is of type application/octet-stream, 0 bytes, which you cannot look into.]'}],
  [
    'text that is not base64',
    {inlineData: {mimeType: 'text/plain', data: '!'}},
    {text: '[file is of type text/plain, data that is not base64, which you cannot look into.]'},
  ],
])('%s is shown so that the model can take it', async (_name, artifact, expected) => {
  const it = await staged({file: artifact}, [asks('file'), 'Done.']);
  await lines(it.run());
  expect(shown(it.model.requests[1]?.contents)).toEqual([{role: 'user', parts: [{text: 'Artifact file is:'}, expected]}]);
});

test('without files nothing is said, and what is asked for is told to be missing', async () => {
  const it = await staged({}, [asks('a.txt'), 'Done.']);
  await lines(it.run());
  expect(it.model.requests.map(({config}) => config.systemInstruction)).toEqual([undefined, undefined]);
  expect(shown(it.model.requests[1]?.contents)).toEqual([
    {role: 'user', parts: [{text: 'Artifact a.txt is:'}, {text: 'there is no such file.'}]},
  ]);
});

test('without an artifact service nothing is said, and a call is answered by an error', async () => {
  const it = await stage({steps: [asks('a.txt'), 'Done.'], agent: {tools: [new LoadArtifactsTool()]}});
  const error = 'Expected `artifactService` to be a BaseArtifactService of the runner, to load from, got undefined';
  expect((await lines(it.run())).slice(1)).toEqual([`root: load_artifacts=${JSON.stringify({error})}`, 'root: "Done."']);
  expect(it.model.requests.map(({config}) => config.systemInstruction)).toEqual([undefined, undefined]);
  expect(shown(it.model.requests[1]?.contents)).toEqual([]);
});

test.each<[string, keyof InMemoryArtifactService, unknown, string]>([
  ['no list', 'listArtifactKeys', null, '`the answer of artifactService.listArtifactKeys` to be a list of names, got null'],
  [
    'a list of anything',
    'listArtifactKeys',
    ['a', 7],
    '`the answer of artifactService.listArtifactKeys` to be a list of names, got an array of 2',
  ],
  [
    'a part without content',
    'loadArtifact',
    {},
    '`the answer of artifactService.loadArtifact` to be a Part with inlineData, fileData or text, got an obj',
  ],
  [
    'no part',
    'loadArtifact',
    'text',
    '`the answer of artifactService.loadArtifact` to be a Part with inlineData, fileData or text, got "text"',
  ],
  [
    'a part with another type',
    'loadArtifact',
    {inlineData: {data: '', mimeType: 5}},
    '`the answer of artifactService.loadArtifact.inlineData.mimeType` to be a string, got 5',
  ],
])('a service that gives %s ends the run with an error that names its method', async (_name, method, given, message) => {
  const artifactService = Object.assign(await storeOf({'a.txt': {text: 'a'}}), {[method]: async () => given});
  const it = await stage({steps: [asks('a.txt'), 'Done.'], agent: {tools: [new LoadArtifactsTool()]}, runner: {artifactService}});
  await expect(lines(it.run())).rejects.toMatchObject({
    hook: 'processLlmRequest',
    cause: {code: 'INVALID_OPTION', message: expect.stringContaining(`Expected ${message}`)},
  });
  expectValid(await it.stored());
});

test('a service that gives null for a file that is not there is understood', async () => {
  const artifactService = Object.assign(await storeOf({'a.txt': {text: 'a'}}), {loadArtifact: async () => null as never});
  const it = await stage({steps: [asks('b'), 'Done.'], agent: {tools: [new LoadArtifactsTool()]}, runner: {artifactService}});
  await lines(it.run());
  expect(shown(it.model.requests[1]?.contents)[0]?.parts?.[1]).toEqual({text: 'there is no such file.'});
});

test('a call without names is answered, and shows nothing', async () => {
  const it = await staged({'a.txt': {text: 'a'}}, [functionCalls({id: '1', name: 'load_artifacts', args: {}}), 'Done.']);
  const response = {artifact_names: [], status: 'Nothing follows: no file was named.'};
  expect((await lines(it.run()))[1]).toBe(`root: load_artifacts=${JSON.stringify(response)}`);
  expect(shown(it.model.requests[1]?.contents)).toEqual([]);
});
