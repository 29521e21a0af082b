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

test('without files, or without an artifact service, nothing is said', async () => {
  for (const services of [{}, {artifactService: new InMemoryArtifactService()}]) {
    const it = await stage({steps: [asks('a.txt'), 'Done.'], agent: {tools: [new LoadArtifactsTool()]}, runner: services});
    await lines(it.run());
    expect(it.model.requests.map(({config}) => config.systemInstruction)).toEqual([undefined, undefined]);
    expect(shown(it.model.requests[1]?.contents)).toEqual([]);
  }
});

test('a call without names is answered, and shows nothing', async () => {
  const it = await staged({'a.txt': {text: 'a'}}, [functionCalls({id: '1', name: 'load_artifacts', args: {}}), 'Done.']);
  expect((await lines(it.run()))[1]).toContain('"artifact_names":[]');
  expect(shown(it.model.requests[1]?.contents)).toEqual([]);
});
