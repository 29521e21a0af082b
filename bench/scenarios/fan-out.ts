import {equal} from 'node:assert/strict';
import {converse} from '../converse.ts';
import {cost} from '../measure.ts';
import {atMostTimes, type Data, type Scenario} from '../scenario.ts';
import {createSubject, SUBJECTS} from '../subjects/create-subject.ts';

const SIZES = [1, 10, 100, 1000];
const WIDTH = 64;

export const fanOut: Scenario = {
  question: `Many calls in one reply, ${WIDTH} at a time: tools that wait 5 ms (wall ms), and tools that do nothing (CPU us a call)`,
  subjects: SUBJECTS,
  figures: [
    ...SIZES.map((size) => ({
      label: `${size} calls of 5 ms`,
      key: `ms${size}`,
      budgets: size === 1000 ? [atMostTimes(1.5, 'floor', `ms${size}`)] : [],
    })),
    ...SIZES.map((size) => ({label: `${size} calls of nothing`, key: `us${size}`})),
  ],
  async measure(name): Promise<Data> {
    let [flying, peak, count, waitMs] = [0, 0, 0, 5];
    const tool = async ({n}: {readonly n: number}): Promise<string> => {
      count++;
      peak = Math.max(peak, ++flying);
      if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs));
      flying--;
      return `ok:${n}`;
    };
    const subject = await createSubject(name, {tool, width: WIDTH});
    const run = async (size: number): Promise<void> => {
      [peak, count] = [0, 0];
      const calls = Array.from({length: size}, (_, n) => ({name: 'tool', args: {n}}));
      const results = calls.map(({args}) => `ok:${args.n}`);
      await converse(subject, (index) => (index === 0 ? {calls} : {text: 'done'}), {requests: 2, text: 'done', results});
      equal(count, size);
      if (waitMs > 0) equal(peak, Math.min(size, WIDTH));
    };
    const data: Record<string, number> = {};
    for (const size of SIZES) data[`ms${size}`] = (await cost(() => run(size), 1_000)).wall / 1_000;
    waitMs = 0;
    for (const size of SIZES) data[`us${size}`] = (await cost(() => run(size))).cpu / size;
    return data;
  },
};
