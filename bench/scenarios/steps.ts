import {deepEqual} from 'node:assert/strict';
import {converse, type Expected} from '../converse.ts';
import {cost} from '../measure.ts';
import {atMostTimes, atMostTimesOwn, type Data, type Scenario} from '../scenario.ts';
import type {Turn} from '../script.ts';
import {createSubject, SUBJECTS} from '../subjects/create-subject.ts';

const SIZES = [1, 10, 100, 300, 1000];
/** What the quickest framework takes, over the floor: `ai` 7 in the shared benchmark. A fifth of it is the budget. */
const BEST_PEER: Readonly<Record<number, number>> = {10: 66, 100: 166, 300: 218};

export const steps: Scenario = {
  question: 'One step of an agent: a model call and a call of a tool that does nothing (CPU us a step, in runs of so many steps)',
  subjects: SUBJECTS,
  figures: [
    ...SIZES.map((size) => ({
      label: `${size} steps`,
      key: `us${size}`,
      budgets: [
        atMostTimes(2, 'floor-contract', `us${size}`),
        ...(BEST_PEER[size] === undefined
          ? []
          : [atMostTimes(Math.round(BEST_PEER[size] / 5), 'floor', `us${size}`, ' (1/5 of the best peer)')]),
      ],
    })),
    {label: 'the 10th step at its quickest, wall us', key: 'step10', budgets: [atMostTimes(2, 'floor-contract', 'step10')]},
    {label: 'the 1,000th', key: 'step1000', budgets: [atMostTimesOwn(1.5, 'its 10th', 'step1000', 'step10')]},
  ],
  async measure(name): Promise<Data> {
    const done: number[] = [];
    const tool = async ({n}: {readonly n: number}): Promise<string> => `ok:${done.push(n) && n}`;
    const subject = await createSubject(name, {tool, width: 10});
    const data: Record<string, number> = {};
    const run = async (size: number, at?: Float64Array, results?: Expected['results']): Promise<void> => {
      done.length = 0;
      await converse(subject, turns(size, at), {requests: size + 1, text: 'done', ...(results && {results})});
      deepEqual([done.length, done.at(-1)], [size, size - 1]);
    };
    for (let warm = 0; warm < 30; warm++)
      await run(100, undefined, warm === 0 ? Array.from({length: 100}, (_, n) => `ok:${n}`) : undefined);
    for (const size of SIZES) data[`us${size}`] = (await cost(() => run(size))).cpu / size;
    return {...data, ...(await stepTimes(run))};
  },
};

function turns(size: number, at?: Float64Array): (index: number) => Turn {
  return (index) => {
    if (at) at[index] = performance.now();
    return index < size ? {calls: [{name: 'tool', args: {n: index}}]} : {text: 'done'};
  };
}

/** The quickest of many: what a step costs where nothing else gets in its way. The mean over the ten steps around it. */
async function stepTimes(run: (size: number, at: Float64Array) => Promise<void>): Promise<Data> {
  const size = 1005;
  const best = new Float64Array(size).fill(Infinity);
  for (let round = 0; round < 60; round++) {
    const at = new Float64Array(size + 1);
    await run(size, at);
    for (let step = 0; step < size; step++) best[step] = Math.min(best[step] ?? Infinity, (at[step + 1] ?? NaN) - (at[step] ?? NaN));
  }
  const around = (step: number): number => best.slice(step - 5, step + 5).reduce((sum, ms) => sum + ms, 0) * 100;
  return {step10: around(10), step1000: around(1000)};
}
