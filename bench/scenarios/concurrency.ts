import {equal} from 'node:assert/strict';
import {converse} from '../converse.ts';
import {cost} from '../measure.ts';
import {atLeastTimes, type Data, type Scenario} from '../scenario.ts';
import type {Turn} from '../script.ts';
import {createSubject, SUBJECTS} from '../subjects/create-subject.ts';

const SIZES = [200, 1000];
const TURNS: readonly Turn[] = [
  {calls: [{name: 'tool', args: {n: 0}}], latencyMs: 5},
  {calls: [{name: 'tool', args: {n: 1}}], latencyMs: 5},
  {text: 'done', latencyMs: 5},
];

export const concurrency: Scenario = {
  question: 'Many runs at once in one process, each of three model calls of 5 ms and two tools that do nothing',
  subjects: SUBJECTS,
  figures: SIZES.flatMap((size) => [
    {
      label: `${size} runs at once: runs/s`,
      key: `rate${size}`,
      digits: 0,
      // Four times the quickest peer, `ai` and `genkit`, which reach 1/16 of the floor in the shared benchmark.
      budgets: size === 1000 ? [atLeastTimes(0.25, 'floor', `rate${size}`, ' (4x the best peer)')] : [],
    },
    {label: 'CPU us a run', key: `us${size}`, digits: 1},
    {label: 'peak RSS, MB more than before', key: `mb${size}`, digits: 0},
  ]),
  async measure(name): Promise<Data> {
    let count = 0;
    const tool = async ({n}: {readonly n: number}): Promise<string> => `ok:${(count++, n)}`;
    const subject = await createSubject(name, {tool, width: 10});
    const one = (): Promise<void> =>
      converse(subject, (index) => TURNS[index] ?? {}, {requests: 3, text: 'done', results: ['ok:0', 'ok:1']});
    const data: Record<string, number> = {};
    for (const size of SIZES) {
      globalThis.gc?.();
      const before = process.memoryUsage.rss();
      const {cpu, wall} = await cost(async () => {
        count = 0;
        await Promise.all(Array.from({length: size}, one));
        equal(count, 2 * size);
      }, 2_000);
      data[`rate${size}`] = (size * 1e6) / wall;
      data[`us${size}`] = cpu / size;
      data[`mb${size}`] = (process.resourceUsage().maxRSS * 1024 - before) / 2 ** 20;
    }
    return data;
  },
};
