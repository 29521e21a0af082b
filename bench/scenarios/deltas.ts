import {deepEqual} from 'node:assert/strict';
import {openScript} from '../converse.ts';
import {cost} from '../measure.ts';
import {atMostTimes, type Data, type Scenario} from '../scenario.ts';
import {PIECE} from '../script.ts';
import {drop} from '../scripted-model.ts';
import {createSubject, SUBJECTS} from '../subjects/create-subject.ts';
import type {Subject} from '../subjects/subject.ts';

const SIZES = [2_000, 20_000];

export const deltas: Scenario = {
  question: 'One streamed piece of text, from the model to the reader (CPU us a piece, in replies of so many pieces)',
  subjects: SUBJECTS,
  figures: SIZES.map((size) => ({label: `${size} pieces`, key: `us${size}`, digits: 3, budgets: [atMostTimes(3, 'floor', `us${size}`)]})),
  async measure(name): Promise<Data> {
    const subject = await createSubject(name, {tool: async () => '', width: 10});
    const data: Record<string, number> = {};
    for (const size of SIZES) data[`us${size}`] = (await cost(() => run(subject, size), 1_000)).cpu / size;
    return data;
  },
};

async function run(subject: Subject, size: number): Promise<void> {
  const {opening} = openScript(() => ({pieces: size}));
  const conversation = await subject.open();
  let [pieces, length, whole] = [0, 0, 0];
  for await (const {content, partial} of conversation.say(opening, {stream: true})) {
    const text = content?.parts?.[0]?.text ?? '';
    if (partial) {
      pieces++;
      length += text.length;
    } else whole += text.length;
  }
  drop(opening);
  await conversation.close();
  deepEqual([pieces, length, whole], [size, size * PIECE.length, size * PIECE.length]);
}
