import {converse} from '../converse.ts';
import {cost} from '../measure.ts';
import {atMostTimes, type Data, type Scenario} from '../scenario.ts';
import {createSluice} from '../subjects/sluice.ts';

const SIZES = [1, 10, 100];

/** What it costs to watch the event loop, which every run does. */
export const watch: Scenario = {
  question: 'The watch of the event loop: one step with a tool that does nothing, without it and with it (CPU us a step)',
  subjects: ['unwatched', 'sluice'],
  figures: SIZES.map((size) => ({label: `${size} steps`, key: `us${size}`, budgets: [atMostTimes(1.1, 'unwatched', `us${size}`)]})),
  async measure(name): Promise<Data> {
    const tool = async ({n}: {readonly n: number}): Promise<string> => `ok:${n}`;
    const subject = createSluice({tool, width: 10, ...(name === 'unwatched' && {blockedLoopMs: Infinity})});
    const run = (size: number): Promise<void> =>
      converse(subject, (index) => (index < size ? {calls: [{name: 'tool', args: {n: index}}]} : {text: 'done'}), {
        requests: size + 1,
        text: 'done',
      });
    for (let warm = 0; warm < 30; warm++) await run(100);
    const data: Record<string, number> = {};
    for (const size of SIZES) data[`us${size}`] = (await cost(() => run(size))).cpu / size;
    return data;
  },
};
