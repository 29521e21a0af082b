import {mkdir, readdir, readFile, rm, symlink, utimes, writeFile} from 'node:fs/promises';
import {join} from 'node:path';
import {pathToFileURL} from 'node:url';
import {afterAll, beforeAll, describe, expect, test, vi} from 'vitest';
import {InvalidOptionError} from 'sluice';
import {DamagedArtifactError, FileArtifactService} from 'sluice/files';
import {artifactServiceSuite} from 'sluice/testing';
import {newFolder} from './folder.ts';

const scope = {appName: 'demo', userId: 'ada', sessionId: 's'};
const file = {...scope, filename: 'a.txt'};
const inRoot = async (root: string): Promise<string[]> => {
  const entries = await readdir(root, {recursive: true, withFileTypes: true});
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  return files.map((path) => path.slice(root.length + 1)).toSorted();
};

describe('FileArtifactService is an artifact service', () => {
  let folder: Awaited<ReturnType<typeof newFolder>>;
  beforeAll(async () => {
    folder = await newFolder();
  });
  afterAll(() => folder[Symbol.asyncDispose]());

  test.each(artifactServiceSuite(() => new FileArtifactService(folder.path)))('$name', async ({run}) => {
    await expect(run()).resolves.toBeUndefined();
  });

  test('also where all cases run at once on one folder', async () => {
    const cases = artifactServiceSuite(() => new FileArtifactService(folder.path));
    expect(await Promise.all(cases.map(({run}) => run()))).toEqual(cases.map(() => undefined));
  });
});

test('a version is a folder with the bytes or the text as a file, and the rest beside it', async () => {
  await using folder = await newFolder();
  const service = new FileArtifactService(folder.path);
  const png = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0xff]);
  const image = {inlineData: {mimeType: 'image/png', data: png.toString('base64'), displayName: 'A dot'}, thoughtSignature: 'c2ln'};
  await service.saveArtifact({...scope, filename: 'dot.png', artifact: image});
  await service.saveArtifact({...scope, filename: 'dot.png', artifact: image});
  await service.saveArtifact({...scope, filename: 'user:notes.md', artifact: {text: '# Grüße\n'}});
  await service.saveArtifact({...scope, filename: 'film', artifact: {fileData: {fileUri: 'gs://b/film.mp4', mimeType: 'video/mp4'}}});

  expect(await inRoot(folder.path)).toEqual([
    'app-demo/user-ada/file-notes.md/0/data.md',
    'app-demo/user-ada/file-notes.md/0/part.json',
    'app-demo/user-ada/session-s/file-dot.png/0/data.png',
    'app-demo/user-ada/session-s/file-dot.png/0/part.json',
    'app-demo/user-ada/session-s/file-dot.png/1/data.png',
    'app-demo/user-ada/session-s/file-dot.png/1/part.json',
    'app-demo/user-ada/session-s/file-film/0/part.json',
  ]);
  const ada = join(folder.path, 'app-demo/user-ada');
  expect(await readFile(join(ada, 'session-s/file-dot.png/1/data.png'))).toEqual(png);
  expect(await readFile(join(ada, 'file-notes.md/0/data.md'), 'utf8')).toBe('# Grüße\n');
  expect(JSON.parse(await readFile(join(ada, 'session-s/file-dot.png/1/part.json'), 'utf8'))).toEqual({
    filename: 'dot.png',
    part: {inlineData: {mimeType: 'image/png', displayName: 'A dot'}, thoughtSignature: 'c2ln'},
    data: 'inlineData',
  });
});

test('another service on the same folder has it all: after a restart nothing is lost', async () => {
  await using folder = await newFolder();
  const parts = [
    {text: 'zero'},
    {inlineData: {mimeType: 'text/plain', data: 'aGk='}},
    {fileData: {fileUri: 'gs://b/c'}},
    // What no file of bytes or text brings back as it was.
    {text: 'half \ud83d'},
    {inlineData: {mimeType: 'text/plain', data: 'aGk'}},
    {inlineData: {mimeType: 'text/plain', data: '-_-_'}},
    {text: 'beside', inlineData: {mimeType: 'text/plain', data: 'aGk='}},
  ];
  for (const artifact of parts) await new FileArtifactService(folder.path).saveArtifact({...file, artifact});

  const service = new FileArtifactService(pathToFileURL(folder.path));
  const versions = await service.listVersions(file);
  expect(versions).toEqual([0, 1, 2, 3, 4, 5, 6]);
  expect(await Promise.all(versions.map((version) => service.loadArtifact({...file, version})))).toEqual(parts);
  expect(await service.saveArtifact({...file, artifact: {text: 'next'}})).toBe(7);
});

const oddNames = [
  ['..', '.', '../../escape', '/etc/passwd', 'C:\\windows', '\\\\host\\share', 'a/../b', './a', '~', '~/a'],
  ['nul', 'CON', 'com1.txt', 'a.', 'a ', ' a', '.hidden', '-rf', '$HOME', '%', '%0041', '%~', 'a%2fb', '0', 'part.json', 'file-a'],
  ['A', 'a', 'Ａ', '\u00e9', 'e\u0301', 'ß', 'SS', 'ı', 'İ', 'ſ', '\ufb01', '\ud83d', '\ud83d\ude00', '\ude00'],
  ['nul\0byte', 'tab\tline\nbreak', '\u202egnp.exe', 'x'.repeat(300), 'X'.repeat(300), `${'x'.repeat(300)}y`, 'é'.repeat(400)],
].flat();

test('every odd name is a file of its own, below the folder, and comes back as it was given', async () => {
  await using folder = await newFolder();
  const root = join(folder.path, 'root');
  const service = new FileArtifactService(root);
  const files = oddNames.flatMap((name) => [
    {...scope, filename: name},
    {...scope, filename: `user:${name}`},
    {...scope, sessionId: name, filename: 'a'},
    {appName: name, userId: name, sessionId: name, filename: name},
  ]);
  const saves = files.map((request, index) => service.saveArtifact({...request, artifact: {text: `file ${index}`}}));
  expect(await Promise.all(saves)).toEqual(files.map(() => 0));
  const loads = files.map(async (request) => [request, await service.loadArtifact(request)]);
  expect(await Promise.all(loads)).toEqual(files.map((request, index) => [request, {text: `file ${index}`}]));

  const names = oddNames.flatMap((name) => [name, `user:${name}`]);
  expect(await service.listArtifactKeys(scope)).toEqual(names.toSorted());
  expect(await readdir(folder.path)).toEqual(['root']);
  // No file system is needed that tells these apart.
  const paths = await inRoot(root);
  expect(new Set(paths.map((path) => path.normalize('NFKC').toLowerCase())).size).toBe(paths.length);
  expect(paths.filter((path) => !/^[\w./%~-]+$/.test(path) || path.split('/').some((part) => part.length > 255))).toEqual([]);

  for (const request of files) await service.deleteArtifact(request);
  expect(await inRoot(root)).toEqual([]);
});

test('no short name is taken for a long one, whose folder is named by a hash', async () => {
  await using folder = await newFolder();
  const service = new FileArtifactService(folder.path);
  await service.saveArtifact({...scope, filename: 'x'.repeat(300), artifact: {text: 'long'}});
  const [long = ''] = (await readdir(join(folder.path, 'app-demo/user-ada/session-s'))).map((name) => name.slice('file-'.length));
  const guesses = [long, long.replace('%~', '%'), long.replace('%~', '\u007e')];
  for (const filename of guesses) expect(await service.saveArtifact({...scope, filename, artifact: {text: 'short'}})).toBe(0);
  expect(await service.loadArtifact({...scope, filename: 'x'.repeat(300)})).toEqual({text: 'long'});
});

test('the folder is made by the first save, and reading makes nothing', async () => {
  await using folder = await newFolder();
  const root = join(folder.path, 'not/there/yet');
  const service = new FileArtifactService(root);
  expect([await service.loadArtifact(file), await service.listVersions(file), await service.listArtifactKeys(scope)]).toEqual([
    undefined,
    [],
    [],
  ]);
  await service.deleteArtifact(file);
  expect(await readdir(folder.path)).toEqual([]);
  await service.saveArtifact({...file, artifact: {text: 'a'}});
  expect(await readdir(root)).toEqual(['app-demo', 'aside']);
});

test('a path is the one of the working directory at construction', async () => {
  await using folder = await newFolder();
  const cwd = vi.spyOn(process, 'cwd').mockReturnValue(folder.path);
  const service = new FileArtifactService('artifacts');
  cwd.mockRestore();
  await service.saveArtifact({...file, artifact: {text: 'a'}});
  expect(await readdir(folder.path)).toEqual(['artifacts']);
});

test.each([[''], [undefined], [7], ['a\0b'], ['gs://bucket/folder'], [new URL('https://host/folder')]])(
  'a root that is no folder of this machine is refused: %j',
  (root) => {
    expect(() => new FileArtifactService(root as string)).toThrow(InvalidOptionError);
    expect(() => new FileArtifactService(root as string)).toThrow(/^Expected `root` to be a path or a file: URL, got /);
  },
);

test('a record that somebody has changed is named, and nothing is made up', async () => {
  await using folder = await newFolder();
  const service = new FileArtifactService(folder.path);
  await service.saveArtifact({...file, artifact: {text: 'a'}});
  const path = join(folder.path, 'app-demo/user-ada/session-s/file-a.txt/0/part.json');
  for (const content of ['', '{"filename": "a.t', 'null', '[]', '{"filename": "a.txt"}', '{"part": {"text": "b"}}']) {
    await writeFile(path, content);
    for (const read of [() => service.loadArtifact(file), () => service.listArtifactKeys(scope)]) {
      const error: unknown = await read().catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(DamagedArtifactError);
      expect(error).toMatchObject({code: 'ARTIFACT_DAMAGED', path});
    }
  }
});

test('what others leave in the folder is not taken for artifacts', async () => {
  await using folder = await newFolder();
  const service = new FileArtifactService(folder.path);
  await service.saveArtifact({...file, artifact: {text: 'a'}});
  const session = join(folder.path, 'app-demo/user-ada/session-s');
  await writeFile(join(session, '.DS_Store'), '');
  await writeFile(join(session, 'file-a.txt/.DS_Store'), '');
  await mkdir(join(session, 'file-a.txt/01'));
  // As a process leaves it that ends between making the folder and moving the version there.
  await mkdir(join(session, 'file-b.txt'));
  expect(await service.listArtifactKeys(scope)).toEqual(['a.txt']);
  expect(await service.listVersions(file)).toEqual([0]);
  expect(await service.saveArtifact({...scope, filename: 'b.txt', artifact: {text: 'b'}})).toBe(0);
});

test('what a crash left aside is removed once it is a day old, and not before', async () => {
  await using folder = await newFolder();
  const aside = join(folder.path, 'aside');
  const hoursAgo = (hours: number): Date => new Date(Date.now() - hours * 3_600_000);
  for (const [name, hours] of [
    ['old', 25],
    ['new', 23],
  ] as const) {
    await mkdir(join(aside, name), {recursive: true});
    await writeFile(join(aside, name, 'data'), 'half');
    await utimes(join(aside, name), hoursAgo(hours), hoursAgo(hours));
  }
  await new FileArtifactService(folder.path).saveArtifact({...file, artifact: {text: 'a'}});
  expect(await readdir(aside)).toEqual(['new']);
});

test('a save that the disk refuses is told with its own error, and leaves nothing behind', async () => {
  await using folder = await newFolder();
  const service = new FileArtifactService(folder.path);
  await service.saveArtifact({...file, artifact: {text: 'a'}});
  const session = join(folder.path, 'app-demo/user-ada/session-s');
  await writeFile(join(session, 'file-b.txt'), 'no folder');
  await expect(service.saveArtifact({...scope, filename: 'b.txt', artifact: {text: 'b'}})).rejects.toMatchObject({code: 'ENOTDIR'});
  await symlink('nowhere', join(session, 'file-c.txt'));
  await expect(service.saveArtifact({...scope, filename: 'c.txt', artifact: {text: 'c'}})).rejects.toMatchObject({code: 'ENOENT'});
  expect(await readdir(join(folder.path, 'aside'))).toEqual([]);
  expect(await service.listVersions(file)).toEqual([0]);
});

test('a root that is a file is told with the error of the disk', async () => {
  await using folder = await newFolder();
  const path = join(folder.path, 'file');
  await writeFile(path, '');
  const service = new FileArtifactService(path);
  await expect(service.saveArtifact({...file, artifact: {text: 'a'}})).rejects.toMatchObject({code: 'ENOTDIR'});
  await rm(path);
  expect(await service.saveArtifact({...file, artifact: {text: 'a'}})).toBe(0);
});
