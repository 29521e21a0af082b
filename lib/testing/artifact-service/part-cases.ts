import assert from 'node:assert/strict';
import type {Part} from '../../content.ts';
import {vandalise} from '../session-service/session-case.ts';
import type {ArtifactCase} from './artifact-case.ts';

/** What a part may be, and that a store and its callers share none. */
export const partCases: readonly ArtifactCase[] = [
  {
    name: 'a part comes back with every value that it was saved with',
    async check({service, scope}) {
      // 0xfb, 0xef and 0xff give both letters, + and /, in which the two alphabets of base64 differ.
      const data = Buffer.from(Array.from({length: 1_024}, (_, index) => (index * 251) % 256)).toString('base64');
      const parts: Part[] = [
        {inlineData: {mimeType: 'image/png', data, displayName: 'A chart'}},
        {inlineData: {mimeType: 'application/octet-stream', data: '++//'}, thoughtSignature: 'c2ln', partMetadata: {page: 1, tags: [null]}},
        {inlineData: {mimeType: 'text/plain', data: ''}},
        {fileData: {mimeType: 'video/mp4', fileUri: 'gs://bucket/film.mp4'}},
        {text: 'Grüße, \u{1F600}\r\n end'},
        {text: ''},
      ];
      for (const [version, artifact] of parts.entries()) {
        assert.equal(await service.saveArtifact({...scope, filename: 'a', artifact}), version);
        assert.deepEqual(await service.loadArtifact({...scope, filename: 'a'}), artifact);
      }
      for (const [version, artifact] of parts.entries()) {
        assert.deepEqual(await service.loadArtifact({...scope, filename: 'a', version}), artifact);
      }
    },
  },
  {
    name: 'a reference to another artifact is kept as it is, and never followed',
    async check(world) {
      const {appName} = world.scope;
      await world.save('secret.txt', 'of Bob', {userId: 'bob', sessionId: 's'});
      const fileUri = `artifact://apps/${appName}/users/bob/sessions/s/artifacts/secret.txt/versions/0`;
      const artifact = {fileData: {fileUri, mimeType: 'text/plain'}};
      await world.service.saveArtifact({...world.scope, filename: 'a.txt', artifact});
      assert.deepEqual(await world.load('a.txt'), artifact);
    },
  },
  {
    name: 'what a caller changes in a part that it saves is not stored, not even before the save is done',
    async check({service, scope}) {
      const artifact = {inlineData: {mimeType: 'text/plain', data: 'aGVsbG8='}, partMetadata: {tags: ['a']}};
      const before = structuredClone(artifact);
      const pending = service.saveArtifact({...scope, filename: 'a', artifact});
      vandalise(artifact);
      await pending;
      assert.deepEqual(await service.loadArtifact({...scope, filename: 'a'}), before);
    },
  },
  {
    name: "a part that was loaded is the caller's own: what it changes there is not stored",
    async check({service, scope}) {
      const artifact = {inlineData: {mimeType: 'text/plain', data: 'aGVsbG8='}, partMetadata: {tags: ['a']}};
      const before = structuredClone(artifact);
      await service.saveArtifact({...scope, filename: 'a', artifact});
      for (const version of [0, undefined]) {
        const loaded = await service.loadArtifact({...scope, filename: 'a', version});
        vandalise(loaded);
        assert.notDeepEqual(loaded, before, 'the caller should be able to change it');
        assert.deepEqual(await service.loadArtifact({...scope, filename: 'a'}), before);
      }
      assert.deepEqual(artifact, before, 'nor in the part that was saved');
    },
  },
  {
    name: 'what a caller changes in a list that it got is not stored',
    async check(world) {
      await world.save('a.txt', 'zero');
      vandalise(await world.keys());
      vandalise(await world.versions('a.txt'));
      assert.deepEqual([await world.keys(), await world.versions('a.txt')], [['a.txt'], [0]]);
    },
  },
  {
    name: 'a part without content, or that JSON cannot hold, is refused and makes no version',
    async check({service, scope}) {
      const file = {...scope, filename: 'a'};
      await service.saveArtifact({...file, artifact: {text: 'good'}});
      for (const artifact of refusedParts()) {
        await assert.rejects(service.saveArtifact({...file, artifact}), {code: 'INVALID_OPTION'}, describe(artifact));
        await assert.rejects(service.saveArtifact({...file, filename: 'b', artifact}), {code: 'INVALID_OPTION'}, describe(artifact));
      }
      assert.deepEqual([await service.listVersions(file), await service.listArtifactKeys(scope)], [[0], ['a']]);
    },
  },
];

function refusedParts(): Part[] {
  const bytes = new Uint8Array([1, 2, 3]);
  return [
    undefined,
    null,
    'text',
    bytes,
    [{text: 'text'}],
    {},
    {text: undefined},
    {functionCall: {name: 'f'}},
    ...[null, 'aGk=', {}, {mimeType: 'image/png'}, {data: bytes}, {data: null}].map((inlineData) => ({inlineData})),
    ...[null, 'gs://bucket/file', {}, {fileUri: ''}, {fileUri: new URL('gs://bucket/file')}].map((fileData) => ({fileData})),
    ...[null, 7, ['text']].map((text) => ({text})),
    {text: 'text', partMetadata: {size: 10n}},
    {text: 'text', partMetadata: {read: () => 'text'}},
  ] as Part[];
}

function describe(part: Part): string {
  return JSON.stringify(part, (_, value: unknown) => (typeof value === 'bigint' || typeof value === 'function' ? String(value) : value));
}
