// Several writers at once, and writers that are killed: with real processes on a real disk.
import {spawn, type ChildProcess} from 'node:child_process';
import {once} from 'node:events';
import {watch} from 'node:fs';
import {mkdir, readdir} from 'node:fs/promises';
import {join} from 'node:path';
import {createInterface} from 'node:readline';
import {fileURLToPath} from 'node:url';
import {expect, onTestFinished, test} from 'vitest';
import {FileArtifactService} from 'sluice/files';
import {newFolder} from './folder.ts';

const child = fileURLToPath(new URL('children/save-texts.ts', import.meta.url));
const file = {appName: 'demo', userId: 'ada', sessionId: 's', filename: 'shared.txt'};

interface Saved {
  readonly version: number;
  readonly text: string;
}

/** Starts a process that saves texts. `saved` tells what it said that it had saved when it ended. */
function startWriter(...args: readonly string[]): {process: ChildProcess; saved: Promise<Saved[]>} {
  const started = spawn(process.execPath, [child, ...args], {stdio: ['ignore', 'pipe', 'inherit']});
  onTestFinished(() => void started.kill('SIGKILL'));
  const collect = async (): Promise<Saved[]> => {
    const lines: Saved[] = [];
    for await (const line of createInterface({input: started.stdout})) lines.push(JSON.parse(line) as Saved);
    return lines;
  };
  return {process: started, saved: collect()};
}

test('processes that save versions of one file at once get a number each, without a gap, and each finds what it saved', async () => {
  await using folder = await newFolder();
  const writers = ['one', 'two', 'three'].map((name) => startWriter(folder.path, name, '30'));
  const saved = await Promise.all(writers.map((writer) => writer.saved));

  expect(saved.map((own) => own.length)).toEqual([30, 30, 30]);
  for (const own of saved) expect(own.map(({version}) => version)).toEqual(own.map(({version}) => version).toSorted((a, b) => a - b));
  const all = saved.flat().toSorted((a, b) => a.version - b.version);
  expect(all.map(({version}) => version)).toEqual(Array.from({length: 90}, (_, index) => index));
  const service = new FileArtifactService(folder.path);
  const loaded = await Promise.all(all.map(({version}) => service.loadArtifact({...file, version})));
  expect(loaded).toEqual(all.map(({text}) => ({text})));
  expect(await readdir(join(folder.path, 'aside'))).toEqual([]);
});

test('a process that is killed in the middle of a save leaves no half version, and no number that is lost', async () => {
  await using folder = await newFolder();
  const aside = join(folder.path, 'aside');
  await mkdir(aside);
  const service = new FileArtifactService(folder.path);
  const bytes = 8 * 1_024 * 1_024;
  let cut = 0;
  // Where the process was quicker than the kill, once more: what counts is that it was hit.
  for (let round = 0; cut === 0 && round < 20; round++) {
    const watcher = watch(aside);
    const writer = startWriter(folder.path, 'cut', '1000', String(bytes));
    await once(watcher, 'change');
    writer.process.kill('SIGKILL');
    watcher.close();
    await once(writer.process, 'close');
    cut = (await readdir(aside)).length;

    const versions = await service.listVersions(file);
    expect(versions).toEqual(versions.map((_, index) => index));
    for (const version of versions) {
      const text = (await service.loadArtifact({...file, version}))?.text;
      expect([version, text?.length]).toEqual([version, text?.startsWith('cut') ? `cut 0 ${'x'.repeat(bytes)}`.length : 4]);
    }
    expect(await service.saveArtifact({...file, artifact: {text: 'next'}})).toBe(versions.length);
  }
  expect(cut).toBeGreaterThan(0);
  expect(await service.loadArtifact(file)).toEqual({text: 'next'});
});

test('saves, loads and deletions of one file at the same time never see half of anything', async () => {
  await using folder = await newFolder();
  const writer = startWriter(folder.path, 'other', '60');
  const service = new FileArtifactService(folder.path);
  const text = 'y'.repeat(50_000);
  const isWhole = (found: string | undefined): boolean => found === undefined || found === text || /^other \d+$/.test(found);
  const wrong: unknown[] = [];
  const work = Array.from({length: 60}, async (_, index) => {
    await service.saveArtifact({...file, artifact: {text}});
    const found = await service.loadArtifact(file);
    if (!isWhole(found?.text)) wrong.push(found);
    if (index % 10 === 9) await service.deleteArtifact(file);
    const keys = await service.listArtifactKeys(file);
    if (keys.some((key) => key !== file.filename)) wrong.push(keys);
  });
  await Promise.all(work);

  expect((await writer.saved).length).toBe(60);
  expect(wrong).toEqual([]);
  for (const version of await service.listVersions(file)) {
    expect(await service.loadArtifact({...file, version}).then((part) => part !== undefined && isWhole(part.text))).toBe(true);
  }
  await service.deleteArtifact(file);
  expect([await service.listVersions(file), await readdir(join(folder.path, 'aside'))]).toEqual([[], []]);
});
