import {deepEqual, equal} from 'node:assert/strict';
import {cost} from '../measure.ts';
import {atMostTimes, atMostTimesOwn, type Data, type Scenario} from '../scenario.ts';
import {resultsIn, Script} from '../script.ts';
import {drop, play} from '../scripted-model.ts';
import {createSubject, SUBJECTS} from '../subjects/create-subject.ts';
import type {Subject} from '../subjects/subject.ts';

const SIZES = [1, 10, 100, 300, 1000];
/** What the quickest framework takes, over the floor: `ai` 7 in the shared benchmark. A fifth of it is the budget. */
const BEST_PEER: Readonly<Record<number, number>> = {10: 66, 100: 166, 300: 218};

export const steps: Scenario = {
  question: 'One step of an agent: a model call and a call of a tool that does nothing (CPU us a step, runs of so many steps)',
  subjects: SUBJECTS,
  figures: [
    ...SIZES.map((size) => ({
      label: `${size} steps`,
      key: `us${size}`,
      budgets: [
        atMostTimes(2, 'floor-contract', `us${size}`),
        ...(BEST_PEER[size] === undefined ? [] : [atMostTimes(Math.round(BEST_PEER[size] / 5), 'floor', `us${size}`, ' (1/5 of the best peer)')]),
      ],
    })),
    {label: 'the 10th step, wall us', key: 'step10'},
    {label: 'the 1,000th step, wall us', key: 'step1000', budgets: [atMostTimesOwn(1.5, 'its 10th', 'step1000', 'step10')]},
  ],
  async measure(name): Promise<Data> {
    const done: number[] = [];
    const tool = async ({n}: {readonly n: number}): Promise<string> => `ok:${done.push(n) && n}`;
    const subject = await createSubject(name, {tool, width: 10});
    const data: Record<string, number> = {};
    for (let warm = 0; warm < 30; warm++) await run(subject, 100, done, {checked: warm === 0});
    for (const size of SIZES) data[`us${size}`] = (await cost(async () => void (await run(subject, size, done)))).cpu / size;
    const times = await stepTimes(subject, done);
    data['step10'] = times(10);
    data['step1000'] = times(1000);
    return data;
  },
};

interface RunOptions {
  readonly checked?: boolean;
  readonly at?: Float64Array;
}

/** One run of so many steps in a new conversation. */
async function run(subject: Subject, size: number, done: number[], {checked = false, at}: RunOptions = {}): Promise<void> {
  done.length = 0;
  const opening = `steps ${size}`;
  const script = new Script(
    (index) => {
      if (at) at[index] = performance.now();
      return index < size ? {calls: [{name: 'tool', args: {n: index}}]} : {text: 'done'};
    },
    checked ? (index, contents) => deepEqual(resultsIn(contents), Array.from({length: index}, (_, n) => `ok:${n}`)) : undefined,
  );
  play(opening, script);
  const conversation = await subject.open();
  let [events, last] = [0, ''];
  for await (const {content} of conversation.say(opening)) {
    events++;
    last = content?.parts?.[0]?.text ?? '';
  }
  drop(opening);
  deepEqual([events, last, script.requests, done.length, done.at(-1)], [2 * size + 1, 'done', size + 1, size, size - 1]);
  equal(await conversation.size(), 2 * size + 2);
  await conversation.close();
}

/** The quickest of many: what a step costs where nothing else gets in its way. The mean over the steps around it. */
async function stepTimes(subject: Subject, done: number[]): Promise<(step: number) => number> {
  const size = 1005;
  const best = new Float64Array(size).fill(Infinity);
  for (let round = 0; round < 60; round++) {
    const at = new Float64Array(size + 1);
    await run(subject, size, done, {at});
    for (let step = 0; step < size; step++) best[step] = Math.min(best[step] ?? Infinity, (at[step + 1] ?? NaN) - (at[step] ?? NaN));
  }
  return (step) => (best.slice(step - 5, step + 5).reduce((sum, ms) => sum + ms, 0) / 10) * 1000;
}
