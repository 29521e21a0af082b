import {describe, expect, test} from 'vitest';
import {InMemoryArtifactService} from '../../lib/artifacts/in-memory-artifact-service.ts';
import type {Part} from '../../lib/content.ts';
import {InvalidOptionError} from '../../lib/errors.ts';
import {artifactServiceSuite} from '../../lib/testing/artifact-service-suite.ts';

describe('InMemoryArtifactService is an artifact service', () => {
  test.each(artifactServiceSuite(() => new InMemoryArtifactService()))('$name', async ({run}) => {
    await expect(run()).resolves.toBeUndefined();
  });

  test('also where all cases run at once on one service', async () => {
    const service = new InMemoryArtifactService();
    const cases = artifactServiceSuite(() => service);
    expect(await Promise.all(cases.map(({run}) => run()))).toEqual(cases.map(() => undefined));
  });
});

const file = {appName: 'demo', userId: 'ada', sessionId: 's', filename: 'a.txt'};

test('saveArtifact says what is wrong with a part', async () => {
  const service = new InMemoryArtifactService();
  const messageOf = (artifact: unknown): Promise<string> =>
    service.saveArtifact({...file, artifact: artifact as Part}).then(
      () => 'saved',
      (error: unknown) => (error as InvalidOptionError).message,
    );
  const bytes = new Uint8Array([1]);
  const parts = [undefined, {}, {inlineData: 'aGk='}, {inlineData: {data: bytes}}, {fileData: {fileUri: ''}}, {text: 7}];
  expect(await Promise.all([...parts, {text: 'a', partMetadata: {size: 1n}}].map(messageOf))).toMatchInlineSnapshot(`
    [
      "Expected \`artifact\` to be a Part with inlineData, fileData or text, got undefined",
      "Expected \`artifact\` to be a Part with inlineData, fileData or text, got an object (Object)",
      "Expected \`artifact.inlineData\` to be an object, got "aGk=" (string)",
      "Expected \`artifact.inlineData.data\` to be a base64 string, got an object (Uint8Array)",
      "Expected \`artifact.fileData.fileUri\` to be a non-empty string, got "" (string)",
      "Expected \`artifact.text\` to be a string, got 7 (number)",
      "Expected \`artifact.partMetadata.size\` to be a value that JSON can hold, got 1 (bigint)",
    ]
  `);
});

test('a name or a version that cannot be used is told with its option', async () => {
  const service = new InMemoryArtifactService();
  const errors = await Promise.all(
    [
      service.loadArtifact({...file, filename: ''}),
      service.loadArtifact({...file, filename: 'user:'}),
      service.loadArtifact({...file, version: -1}),
      service.listVersions({...file, userId: ''}),
    ].map((promise) => promise.catch((error: unknown) => error)),
  );
  expect(errors.map((error) => error instanceof InvalidOptionError && [error.option, error.message])).toMatchInlineSnapshot(`
    [
      [
        "filename",
        "Expected \`filename\` to be a non-empty string, with more than \`user:\` in it, got "" (string)",
      ],
      [
        "filename",
        "Expected \`filename\` to be a non-empty string, with more than \`user:\` in it, got "user:" (string)",
      ],
      [
        "version",
        "Expected \`version\` to be a whole number of at least 0, got -1 (number)",
      ],
      [
        "userId",
        "Expected \`userId\` to be a non-empty string, got "" (string)",
      ],
    ]
  `);
});

test('a part is stored as JSON would write it', async () => {
  class Note {
    readonly text = 'Buy milk';
    readonly partMetadata = {at: new Date(0)};
  }
  const service = new InMemoryArtifactService();
  await service.saveArtifact({...file, artifact: new Note()});
  expect(await service.loadArtifact(file)).toStrictEqual({text: 'Buy milk', partMetadata: {at: '1970-01-01T00:00:00.000Z'}});
});

test('two services share nothing', async () => {
  const [first, second] = [new InMemoryArtifactService(), new InMemoryArtifactService()];
  await first.saveArtifact({...file, artifact: {text: 'a'}});
  expect(await second.listArtifactKeys(file)).toEqual([]);
});
