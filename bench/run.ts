// node bench/run.ts [--rounds 3] [--only steps,deltas]: measures the built package against the floors, each subject of each scenario in
// a fresh process, interleaved; prints one table per scenario, and which budget holds. `npm run bench` builds first.
import {execFile} from 'node:child_process';
import {availableParallelism, cpus, loadavg} from 'node:os';
import {fileURLToPath} from 'node:url';
import {parseArgs, promisify} from 'node:util';
import type {Data} from './scenario.ts';
import {scenarioNamed, scenarios} from './scenarios/index.ts';
import {holds, table, type Round} from './table.ts';

const {values} = parseArgs({options: {rounds: {type: 'string', default: '3'}, only: {type: 'string'}}});
const count = Number(values.rounds);
if (!Number.isInteger(count) || count < 1) throw new Error(`--rounds must be a whole number from 1, got ${values.rounds}`);
const names = values.only?.split(',') ?? Object.keys(scenarios);
const rounds = new Map(names.map((name) => [name, [] as Round[]]));
for (const name of names) scenarioNamed(name);

for (let round = 0; round < count; round++) {
  for (const name of names) rounds.get(name)?.push(await measureRound(name, round));
}
console.log(
  `Node ${process.version}, ${availableParallelism()} x ${cpus()[0]?.model.trim()}; medians of ${count} rounds, ratios within a round\n`,
);
for (const name of names) console.log(table(scenarioNamed(name), rounds.get(name) ?? []));
const missed = names.filter((name) => !holds(scenarioNamed(name), rounds.get(name) ?? []));
console.log(missed.length === 0 ? 'Every budget holds.' : `Budgets missed in: ${missed.join(', ')}`);

async function measureRound(name: string, round: number): Promise<Round> {
  const {subjects} = scenarioNamed(name);
  const data: Record<string, Data> = {};
  for (let at = 0; at < subjects.length; at++) {
    // Each round begins with another one, so that none always follows the same.
    const subject = subjects[(at + round) % subjects.length] ?? '';
    data[subject] = await measure(name, subject);
    console.error(`round ${round + 1} of ${count}: ${name} ${subject} (load ${loadavg()[0]?.toFixed(1)})`);
  }
  return data;
}

async function measure(name: string, subject: string): Promise<Data> {
  const worker = fileURLToPath(new URL('worker.ts', import.meta.url));
  const env = {...process.env, NODE_ENV: 'production'};
  const {stdout} = await promisify(execFile)(process.execPath, ['--expose-gc', worker, name, subject], {env});
  return JSON.parse(stdout) as Data;
}
