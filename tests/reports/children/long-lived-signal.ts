// Many runs on one signal that lives as long as the process, ended in every way. Prints what they left behind.
import {getEventListeners} from 'node:events';
import {memoryUsage} from 'node:process';
import {BaseLlm, FunctionTool, InMemoryRunner, LlmAgent, StreamingMode, type LlmResponse, type Run} from 'sluice';
import {Gemini} from 'sluice/gemini';

const [url] = process.argv.slice(2);
const gc = (globalThis as {gc?: () => void}).gc!;
const {signal} = new AbortController();

/** Calls a tool, then answers in two pieces. */
class TwoSteps extends BaseLlm {
  async *generateContentAsync({contents}: {contents: readonly object[]}): AsyncGenerator<LlmResponse, void, undefined> {
    if (contents.length === 1) {
      yield {content: {role: 'model', parts: [{functionCall: {name: 'tool', args: {}}}]}, finishReason: 'STOP'};
      return;
    }
    yield {content: {role: 'model', parts: [{text: 'one'}]}, partial: true};
    yield {content: {role: 'model', parts: [{text: 'one two'}]}, finishReason: 'STOP'};
  }
}

const model = url
  ? new Gemini({model: 'gemini-2.5-flash', apiKey: 'test', httpOptions: {baseUrl: url}})
  : new TwoSteps({model: 'two-steps'});
const tool = new FunctionTool({
  name: 'tool',
  description: 'Takes its signal.',
  execute: async (_args, {abortSignal}) => abortSignal.aborted,
});
const agent = new LlmAgent({name: 'root', model, tools: [tool]});
const runner = new InMemoryRunner({agent, appName: 'app', runConfig: {streamingMode: StreamingMode.SSE}});
const start = (): Run => runner.runEphemeral({userId: 'u', newMessage: {role: 'user', parts: [{text: 'go'}]}, abortSignal: signal});

const ways: readonly ((run: Run) => Promise<unknown>)[] = [
  async (run) => {
    for await (const _ of run);
  },
  async (run) => {
    for await (const _ of run) break;
  },
  async (run) => {
    const pending = run.next();
    await run.return();
    await pending;
  },
  async (run) => {
    await run.next();
    await run.throw('thrown in').catch(() => {});
  },
];

let most = 0;
let left = 0;

async function round(runs: number): Promise<number> {
  for (let n = 0; n < runs; n++) {
    const run = start();
    const ending = ways[n % ways.length]!(run);
    most = Math.max(most, getEventListeners(signal, 'abort').length);
    await ending;
    await run.settled;
    left = Math.max(left, getEventListeners(signal, 'abort').length);
  }
  for (let n = 0; n < 4; n++) {
    await new Promise((resolve) => setImmediate(resolve));
    gc();
  }
  return memoryUsage().heapUsed;
}

// A leak grows in every round; what only the first ones bring is code that warms up.
const runs = url ? 40 : 400;
let heap = await round(runs);
let bytesPerRun = Infinity;
for (let n = 0; n < 3; n++) {
  const grown = await round(runs);
  bytesPerRun = Math.min(bytesPerRun, Math.round((grown - heap) / runs));
  heap = grown;
}
console.log(JSON.stringify({most, left, bytesPerRun}));
await runner.close();
