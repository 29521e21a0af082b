import {writeFile} from 'node:fs/promises';
import {join} from 'node:path';
import * as sluice from 'sluice';
import {afterAll, beforeAll, describe, expect, test, vi} from 'vitest';
import {list, read, root, run} from '../package/project.ts';
import {installAdk, type AdkPackage} from './adk-package.ts';
import {canonical} from './canonical.ts';
import {compare, type Difference} from './compare.ts';
import {matches, type Meant} from './differences/meant.ts';
import {inRequests} from './differences/requests.ts';
import {inRuns} from './differences/runs.ts';
import {inTools} from './differences/tools.ts';
import {inWording} from './differences/wording.ts';
import {elsewhere, leftOut, words} from './names.ts';
import {play, sluiceNames, type Program, type Transcript} from './stage.ts';

const meant = [...inRequests, ...inWording, ...inTools, ...inRuns];
const programs = list('tests/adk/programs/*.ts').map((file) => file.replace(/^.*\/|\.ts$/g, ''));

let adk: AdkPackage;
/** Every program, played on both packages. */
const played = new Map<string, {readonly sluice: Transcript; readonly differences: Difference[]}>();

beforeAll(async () => {
  vi.spyOn(console, 'warn').mockReturnValue(undefined);
  adk = await installAdk();
  for (const name of programs) {
    const {program} = (await import(`./programs/${name}.ts`)) as {program: Program};
    const [theirs, sluice] = [await play(program, adk.names), await play(program, sluiceNames)];
    played.set(name, {sluice, differences: compare(canonical(theirs), canonical(sluice))});
  }
}, 180_000);

afterAll(async () => adk?.[Symbol.asyncDispose]());

const shows = ({traces}: Meant, difference: Difference): boolean => traces.some((trace) => matches(trace, difference));

describe('a program written for @google/adk does the same on Sluice, but for what is meant', () => {
  test.each(programs)('%s', (name) => {
    const {sluice, differences} = played.get(name) ?? {};
    const unmeant = differences?.filter(
      (difference) => !meant.some((one) => (one.programs ?? programs).includes(name) && shows(one, difference)),
    );
    expect({thrown: sluice?.notes['thrown'], unmeant}).toEqual({thrown: undefined, unmeant: []});
  });
});

describe('a difference that is meant shows', () => {
  test.each(meant)('$name', (one) => {
    const within = one.programs ?? programs;
    const differencesOf = (name: string): readonly Difference[] => played.get(name)?.differences ?? [];
    const silent = within.filter((name) => !differencesOf(name).some((difference) => shows(one, difference)));
    const idle = one.traces.filter((trace) => !within.flatMap(differencesOf).some((difference) => matches(trace, difference)));
    expect({silent: one.programs && silent, idle}).toEqual({silent: one.programs && [], idle: []});
  });

  test.each(meant)('in docs/from-adk.md: $name', ({name, why}) => {
    expect(read('docs/from-adk.md').replaceAll(/\s+/g, ' ')).toContain(`**${name}.** ${why}`);
  });
});

test('every name of @google/adk is one of Sluice, or is told to be left out', async () => {
  const missing = Object.keys(adk.names).filter((name) => !(name in sluice));
  const told = [...Object.values(elsewhere).flatMap(words), ...leftOut(read('docs/from-adk.md'))];
  expect(told.toSorted()).toEqual(missing.toSorted());
});

test.each(Object.entries(elsewhere))('%s has the names that docs/from-adk.md says', async (entry, names) => {
  const module = (await import(entry)) as object;
  expect(words(names).filter((name) => !(name in module) || !read('docs/from-adk.md').includes(name))).toEqual([]);
});

test('the programs are programs for the types of @google/adk too', async () => {
  const types = './node_modules/@google/adk/dist/types/index.d.ts';
  const compilerOptions = {
    target: 'es2023',
    lib: ['es2023', 'esnext.disposable', 'dom', 'dom.asynciterable'],
    module: 'esnext',
    moduleResolution: 'bundler',
    types: [],
    strict: true,
    skipLibCheck: true,
    noEmit: true,
    allowImportingTsExtensions: true,
    paths: {sluice: [types], 'sluice/plugins': [types], '@google/genai': ['./node_modules/@google/genai']},
  };
  const files = list('tests/adk/programs/*.ts').map((file) => join(root, file));
  await writeFile(join(adk.folder, 'tsconfig.json'), JSON.stringify({compilerOptions, files}));
  expect(await run('tsc', ['-p', adk.folder, '--pretty', 'false'])).toBe('');
}, 60_000);
