// A benchmark of the runtime itself: a scripted model asks for a tool that does nothing, step after step.
//
//   node examples/benchmark.ts [--runs 300] [--steps 10] [--rounds 5]
import {parseArgs} from 'node:util';
import {FunctionTool, InMemoryRunner, LlmAgent} from 'sluice';
import {functionCalls, ScriptedLlm} from 'sluice/testing';

const {values} = parseArgs({
  options: {
    runs: {type: 'string', default: '300'},
    steps: {type: 'string', default: '10'},
    rounds: {type: 'string', default: '5'},
  },
});
const [runs, steps, rounds] = [count('runs'), count('steps'), count('rounds')];

console.log(
  `No model is asked: a script answers at once. ${runs} runs of ${steps} steps (model call, tool call), best of ${rounds} rounds.\n`,
);
await measure(); // A round that warms up.
const times: number[] = [];
for (let round = 1; round <= rounds; round++) {
  const seconds = await measure();
  times.push(seconds);
  console.log(`  round ${round}   ${figures(seconds)}`);
}
console.log(`  best      ${figures(Math.min(...times))}`);

/** Seconds for one round: runs that follow each other, each in a session of its own. */
async function measure(): Promise<number> {
  const tool = new FunctionTool({name: 'nothing', description: 'Does nothing.', execute: () => ({done: true})});
  const script = [...Array.from({length: steps}, () => functionCalls({name: 'nothing', args: {}})), 'Done.'];
  const runners = Array.from({length: runs}, () => {
    // `record: false`: a call of the model costs next to nothing.
    const model = new ScriptedLlm({steps: script, record: false});
    return new InMemoryRunner({agent: new LlmAgent({name: 'busy', model, tools: [tool]})});
  });

  const start = performance.now();
  let events = 0;
  for (const runner of runners) {
    const run = runner.runEphemeral({userId: 'u', newMessage: {role: 'user', parts: [{text: 'Go'}]}, runConfig: {maxLlmCalls: Infinity}});
    for await (const _event of run) events++;
  }
  const seconds = (performance.now() - start) / 1000;
  const expected = runs * (2 * steps + 1);
  if (events !== expected) throw new Error(`Expected ${expected} Events, got ${events}`);
  return seconds;
}

function figures(seconds: number): string {
  const perStep = (seconds * 1e6) / (runs * (steps + 1));
  return `${perStep.toFixed(1).padStart(7)} µs per step   ${Math.round(runs / seconds)
    .toLocaleString('en-US')
    .padStart(7)} runs/s`;
}

function count(name: keyof typeof values): number {
  const number = Number(values[name]);
  if (!Number.isInteger(number) || number < 1)
    throw new Error(`--${name} takes a whole number from 1, not ${JSON.stringify(values[name])}`);
  return number;
}
