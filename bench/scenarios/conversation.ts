import {deepEqual} from 'node:assert/strict';
import {setFlagsFromString} from 'node:v8';
import {lastText, openScript} from '../converse.ts';
import {atMostTimesOwn, type Data, type Scenario} from '../scenario.ts';
import {drop} from '../scripted-model.ts';
import {createSubject, SUBJECTS} from '../subjects/create-subject.ts';
import type {Subject} from '../subjects/subject.ts';

const TURNS = 1005;

export const conversation: Scenario = {
  question:
    'One long conversation: a turn is the user, a call, its result and an answer (wall us at its quickest, and bytes that it keeps)',
  subjects: SUBJECTS,
  figures: [
    {label: 'the 10th turn', key: 'turn10', digits: 1},
    {label: 'the 300th', key: 'turn300', digits: 1, budgets: [atMostTimesOwn(1.5, 'its 10th', 'turn300', 'turn10')]},
    {label: 'the 1,000th', key: 'turn1000', digits: 1},
    {label: 'bytes a turn', key: 'bytes', digits: 0},
  ],
  async measure(name): Promise<Data> {
    const subject = await createSubject(name, {tool: async ({n}) => `ok:${n}`, width: 10});
    const best = new Float64Array(TURNS).fill(Infinity);
    for (let round = 0; round < 12; round++) await talk(subject, (turn, us) => (best[turn] = Math.min(best[turn] ?? Infinity, us)));
    const around = (turn: number): number => best.slice(turn - 5, turn + 5).reduce((sum, us) => sum + us, 0) / 10;
    return {turn10: around(10), turn300: around(300), turn1000: around(1000), bytes: await weigh(subject)};
  },
};

/** Holds a whole conversation; tells how long each turn took. */
async function talk(subject: Subject, took: (turn: number, us: number) => void, turns = TURNS): Promise<void> {
  const {opening, script} = openScript((index) =>
    index % 2 ? {text: `answer ${index >> 1}`} : {calls: [{name: 'tool', args: {n: index}}]},
  );
  const held = await subject.open();
  for (let turn = 0; turn < turns; turn++) {
    const start = performance.now();
    const text = await lastText(held, turn === 0 ? opening : `question ${turn}`);
    took(turn, (performance.now() - start) * 1000);
    if (text !== `answer ${turn}`) throw new Error(`turn ${turn} ended with ${JSON.stringify(text)}`);
  }
  deepEqual([await held.size(), script.requests], [4 * turns, 2 * turns]);
  drop(opening);
  await held.close();
}

/** What the process's memory grows by from turn to turn. */
async function weigh(subject: Subject): Promise<number> {
  // Else code that is dropped meanwhile hides what the conversation holds.
  setFlagsFromString('--no-flush-bytecode');
  const [from, to] = [100, 500];
  const held: Record<number, number> = {};
  await talk(
    subject,
    (turn) => {
      if (turn === from || turn === to) held[turn] = liveBytes();
    },
    to + 1,
  );
  return ((held[to] ?? NaN) - (held[from] ?? NaN)) / (to - from);
}

function liveBytes(): number {
  if (!globalThis.gc) throw new Error('needs --expose-gc');
  for (let times = 0; times < 3; times++) globalThis.gc();
  const {heapUsed, external} = process.memoryUsage();
  return heapUsed + external;
}
