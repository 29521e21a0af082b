import assert from 'node:assert/strict';
import type {ArtifactScope} from '../../artifacts/base-artifact-service.ts';
import type {ArtifactCase} from './artifact-case.ts';

/** Whose a file is, and its name. */
export const scopeCases: readonly ArtifactCase[] = [
  {
    name: 'a file belongs to its session: no other session, user or app has it',
    async check(world) {
      const {appName} = world.scope;
      await world.save('a.txt', 'mine');
      for (const scope of [{sessionId: 'second'}, {userId: 'bob'}, {appName: `${appName}-2`}]) {
        assert.deepEqual(
          [await world.load('a.txt', scope), await world.versions('a.txt', scope), await world.keys(scope)],
          [undefined, [], []],
        );
        assert.equal(await world.save('a.txt', 'theirs', scope), 0);
        await world.delete('a.txt', scope);
      }
      assert.deepEqual([await world.load('a.txt'), await world.versions('a.txt')], [{text: 'mine'}, [0]]);
    },
  },
  {
    name: "a file whose name begins with user: is one file in all of the user's sessions, and nobody else's",
    async check(world) {
      const second = {sessionId: 'second'};
      assert.equal(await world.save('user:a.txt', 'zero'), 0);
      assert.equal(await world.save('user:a.txt', 'one', second), 1);
      for (const scope of [{}, second, {sessionId: 'never used'}]) {
        assert.deepEqual(
          [await world.load('user:a.txt', scope), await world.load('user:a.txt', scope, 0)],
          [{text: 'one'}, {text: 'zero'}],
        );
        assert.deepEqual([await world.versions('user:a.txt', scope), await world.keys(scope)], [[0, 1], ['user:a.txt']]);
      }
      for (const scope of [{userId: 'bob'}, {appName: `${world.scope.appName}-2`}]) {
        assert.deepEqual([await world.load('user:a.txt', scope), await world.keys(scope)], [undefined, []]);
      }
      await world.delete('user:a.txt', second);
      assert.deepEqual([await world.load('user:a.txt'), await world.keys()], [undefined, []]);
    },
  },
  {
    name: 'user: belongs to the name: a file without it is another',
    async check(world) {
      await world.save('a.txt', 'of the session');
      await world.save('user:a.txt', 'of the user');
      assert.deepEqual([await world.load('a.txt'), await world.load('user:a.txt')], [{text: 'of the session'}, {text: 'of the user'}]);
      // Only at the front: these two are the session's.
      for (const filename of ['my user:a.txt', 'User:a.txt']) await world.save(filename, 'of the session');
      assert.deepEqual(await world.keys({sessionId: 'second'}), ['user:a.txt']);
    },
  },
  {
    name: "listArtifactKeys gives the names of the session's and the user's files in order, each once",
    async check(world) {
      for (const filename of ['user:z', 'b', 'user:a', 'b', 'z', 'B', 'a10', 'a9', 'é']) await world.save(filename, 'text');
      assert.deepEqual(await world.keys(), ['B', 'a10', 'a9', 'b', 'user:a', 'user:z', 'z', 'é']);
    },
  },
  {
    name: 'names do not run into one another, whatever is in them',
    async check(world) {
      const files: [filename: string, scope: Partial<ArtifactScope>][] = [
        // Where a store makes one path of session and file, or keeps the user's files in a folder of that name, these would meet.
        ['b/c.txt', {sessionId: 'a'}],
        ['c.txt', {sessionId: 'a/b'}],
        ['a.txt', {sessionId: 'user'}],
        ['user:a.txt', {sessionId: 'user'}],
        ['c.txt', {sessionId: 's', userId: 'a/b'}],
        ['c.txt', {sessionId: 'b/s', userId: 'a'}],
        // Where it makes a file system's path or a pattern of one, these would.
        ...['x', './x', 'y/../x', '../x', '/x', 'X', 'x ', 'x%', '%78', 'x\\', '*', '.', '..'].map(inSession),
        ...['__proto__', 'constructor', 'toString', '名前', '\u{1F600}', 'line\nbreak', '0', '0/1'].map(inSession),
      ];
      for (const [index, [filename, scope]] of files.entries()) {
        assert.equal(await world.save(filename, `file ${index}`, scope), 0, `${filename} should be new`);
      }
      for (const [index, [filename, scope]] of files.entries()) {
        assert.deepEqual(await world.load(filename, scope), {text: `file ${index}`}, filename);
        assert.ok((await world.keys(scope)).includes(filename), `${filename} should be listed`);
      }
      assert.deepEqual(await world.keys({sessionId: 'a'}), ['b/c.txt', 'user:a.txt']);
    },
  },
  {
    name: 'names that are empty or no strings are refused, and nothing is stored',
    async check({service, scope}) {
      const refused = {code: 'INVALID_OPTION'};
      const good = {...scope, filename: 'a.txt'};
      for (const option of ['appName', 'userId', 'sessionId', 'filename'] as const) {
        for (const bad of ['', undefined, null, 7] as string[]) {
          const request = {...good, [option]: bad};
          const message = `${option}: ${bad}`;
          await assert.rejects(service.saveArtifact({...request, artifact: {text: 'text'}}), refused, message);
          await assert.rejects(service.loadArtifact(request), refused, message);
          await assert.rejects(service.deleteArtifact(request), refused, message);
          await assert.rejects(service.listVersions(request), refused, message);
          if (option !== 'filename') await assert.rejects(service.listArtifactKeys(request), refused, message);
        }
      }
      await assert.rejects(service.saveArtifact({...scope, filename: 'user:', artifact: {text: 'text'}}), refused, 'filename: user:');
      assert.deepEqual(await service.listArtifactKeys(scope), []);
    },
  },
];

function inSession(filename: string): [string, Partial<ArtifactScope>] {
  return [filename, {}];
}
