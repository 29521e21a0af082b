import assert from 'node:assert/strict';
import type {ArtifactCase} from './artifact-case.ts';

/** Versions of a file, and what is not there. */
export const versionCases: readonly ArtifactCase[] = [
  {
    name: 'each save makes the next version, from 0, and all stay readable',
    async check(world) {
      for (const [version, text] of ['zero', 'one', 'two'].entries()) assert.equal(await world.save('a.txt', text), version);
      assert.equal(await world.save('b.txt', 'other'), 0, 'each file counts for itself');
      for (const [version, text] of ['zero', 'one', 'two'].entries()) {
        assert.deepEqual(await world.load('a.txt', {}, version), {text}, `version ${version}`);
      }
      assert.deepEqual(await world.load('a.txt'), {text: 'two'}, 'the latest where no version is named');
      assert.deepEqual(await world.service.loadArtifact({...world.scope, filename: 'a.txt', version: undefined}), {text: 'two'});
      assert.deepEqual(await world.versions('a.txt'), [0, 1, 2]);
    },
  },
  {
    name: 'versions are in the order of numbers, also where there are more than ten',
    async check(world) {
      const numbers = Array.from({length: 12}, (_, index) => index);
      for (const number of numbers) await world.save('a.txt', `text ${number}`);
      assert.deepEqual(await world.versions('a.txt'), numbers);
      assert.deepEqual(await world.load('a.txt'), {text: 'text 11'});
    },
  },
  {
    name: 'saves that run at the same time get a version each and lose nothing',
    async check(world) {
      const texts = Array.from({length: 8}, (_, index) => `text ${index}`);
      const versions = await Promise.all(texts.map((text) => world.save('a.txt', text)));
      assert.deepEqual(
        versions.toSorted((a, b) => a - b),
        texts.map((_, index) => index),
      );
      const loaded = await Promise.all(versions.map((version) => world.load('a.txt', {}, version)));
      assert.deepEqual(
        loaded,
        texts.map((text) => ({text})),
      );
    },
  },
  {
    name: 'a file or a version that is not there is undefined, and an empty list',
    async check(world) {
      assert.equal(await world.load('none.txt'), undefined);
      assert.equal(await world.load('user:none.txt', {}, 0), undefined);
      assert.deepEqual([await world.versions('none.txt'), await world.keys()], [[], []]);
      await world.save('a.txt', 'zero');
      assert.equal(await world.load('a.txt', {}, 1), undefined);
    },
  },
  {
    name: 'deleteArtifact removes all versions of that file only, once or twice, and its next version is 0',
    async check(world) {
      for (const filename of ['a.txt', 'a.txt', 'a.txt.bak', 'user:a.txt']) await world.save(filename, `of ${filename}`);
      await world.delete('a.txt');
      await world.delete('a.txt');
      assert.deepEqual(
        [await world.load('a.txt'), await world.load('a.txt', {}, 1), await world.versions('a.txt')],
        [undefined, undefined, []],
      );
      assert.deepEqual(await world.keys(), ['a.txt.bak', 'user:a.txt']);
      assert.equal(await world.save('a.txt', 'again'), 0);
      assert.deepEqual([await world.load('a.txt'), await world.versions('a.txt')], [{text: 'again'}, [0]]);
    },
  },
  {
    name: 'a version that is no whole number from 0 is refused',
    async check(world) {
      await world.save('a.txt', 'zero');
      for (const bad of [-1, 0.5, Number.NaN, Infinity, '0', null] as number[]) {
        const request = {...world.scope, filename: 'a.txt', version: bad};
        await assert.rejects(world.service.loadArtifact(request), {code: 'INVALID_OPTION'}, `version: ${String(bad)}`);
      }
    },
  },
];
