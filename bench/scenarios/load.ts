import {execFileSync} from 'node:child_process';
import {median} from '../measure.ts';
import {atMostTimes, type Data, type Scenario} from '../scenario.ts';

const PROCESSES = 9;

export const load: Scenario = {
  question: 'Importing the package in a fresh process (beyond what the bare process takes)',
  subjects: ['p-limit', 'sluice'],
  figures: [
    {label: 'wall ms', key: 'ms', budgets: [atMostTimes(3, 'p-limit', 'ms')]},
    {label: 'MB of memory', key: 'mb', digits: 1},
  ],
  async measure(name): Promise<Data> {
    const bare = Array.from({length: PROCESSES}, () => probe(''));
    const loaded = Array.from({length: PROCESSES}, () => probe(`await import(${JSON.stringify(name)});`));
    return {ms: median(loaded.map(({ms}) => ms)), mb: median(loaded.map(({mb}) => mb)) - median(bare.map(({mb}) => mb))};
  },
};

function probe(statement: string): {ms: number; mb: number} {
  const program = `
    const start = performance.now();
    ${statement}
    const ms = performance.now() - start;
    console.log(JSON.stringify({ms, mb: process.memoryUsage.rss() / 2 ** 20}));
  `;
  const cwd = new URL('../..', import.meta.url);
  return JSON.parse(execFileSync(process.execPath, ['--input-type=module', '-e', program], {cwd, encoding: 'utf8'})) as {
    ms: number;
    mb: number;
  };
}
