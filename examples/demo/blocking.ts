import {FunctionTool, getFunctionResponses, InMemoryRunner, LlmAgent, ToolExecutionMode, type Diagnostic} from 'sluice';
import {functionCalls, ScriptedLlm} from 'sluice/testing';
import {z} from 'zod';
import {look} from './blocking-bodies.ts';
import {fact, heading, line, ms, paint} from './screen.ts';
import {axis, rows, span, type Bar} from './timeline.ts';

const SHELVES = ['north', 'east', 'west'] as const;

/** What a mode made of three bodies that block. */
interface Blocked {
  readonly bars: readonly Bar[];
  /** The longest that a timer of 5 ms was late. */
  readonly delayMs: number;
  readonly diagnostics: readonly Diagnostic[];
}

/** Three tools whose bodies block by waiting: on the event loop, then on worker threads. */
export async function compareThreads(): Promise<void> {
  heading(
    '5  Tools that block, on the event loop and on worker threads',
    'Three bodies that block for 400 ms each, as a synchronous driver does; meanwhile a timer is to fire every 5 ms. A scripted model asks.',
  );
  const here = await run(ToolExecutionMode.PARALLEL);
  const there = await run(ToolExecutionMode.PARALLEL_SUBSCRIBE);
  const axisMs = Math.max(span(here.bars), span(there.bars)) * 1.02;
  print('PARALLEL', here, axisMs);
  print('PARALLEL_SUBSCRIBE', there, axisMs);
  line(axis(axisMs));
  line();
  for (const {code, message} of here.diagnostics.slice(0, 1)) fact(code, message);
}

async function run(toolExecutionMode: ToolExecutionMode): Promise<Blocked> {
  const diagnostics: Diagnostic[] = [];
  const calls = functionCalls(...SHELVES.map((shelf) => ({name: `look_${shelf}`, args: {shelf}})));
  const model = new ScriptedLlm({steps: [calls, 'Found.', calls, 'Found.']});
  await using runner = new InMemoryRunner({
    agent: new LlmAgent({name: 'clerk', model, tools: SHELVES.map(toolFor)}),
    appName: 'demo',
    runConfig: {toolExecutionMode},
    onDiagnostic: (diagnostic) => diagnostics.push(diagnostic),
  });
  // The threads of a program that has been running are there already.
  if (toolExecutionMode === ToolExecutionMode.PARALLEL_SUBSCRIBE) await read(runner);
  const {result: times, delayMs} = await timed(() => read(runner));
  const first = Math.min(...times.map(({start}) => start));
  const bars = times.map(({shelf, start, end}) => ({name: `look_${shelf}`, start: start - first, end: end - first, cut: false}));
  return {bars, delayMs, diagnostics};
}

function toolFor(shelf: string): FunctionTool<z.ZodObject<{shelf: z.ZodString}>> {
  return new FunctionTool({
    name: `look_${shelf}`,
    description: 'Looks at a shelf.',
    parameters: z.object({shelf: z.string()}),
    execute: look,
    worker: {module: new URL('./blocking-bodies.ts', import.meta.url), export: 'look'},
  });
}

async function read(runner: InMemoryRunner): Promise<{shelf: string; start: number; end: number}[]> {
  const times: {shelf: string; start: number; end: number}[] = [];
  const newMessage = {role: 'user', parts: [{text: 'Where is it?'}]};
  for await (const event of runner.runEphemeral({userId: 'you', newMessage})) {
    for (const {response} of getFunctionResponses(event)) times.push(response as (typeof times)[number]);
  }
  return times;
}

/** Does some work, and measures how late a timer of 5 ms is meanwhile, at most. */
async function timed<T>(work: () => Promise<T>): Promise<{result: T; delayMs: number}> {
  let [delayMs, last] = [0, performance.now()];
  const timer = setInterval(() => {
    const now = performance.now();
    delayMs = Math.max(delayMs, now - last - 5);
    last = now;
  }, 5);
  try {
    const result = await work();
    // The timer that is late by now still has to fire.
    await new Promise((resolve) => setTimeout(resolve, 10));
    return {result, delayMs};
  } finally {
    clearInterval(timer);
  }
}

function print(mode: string, {bars, delayMs}: Blocked, axisMs: number): void {
  const delay = `the timer was late by up to ${ms(delayMs)}`;
  line(`  ${paint('bold', mode.padEnd(20))}${paint('bold', ms(span(bars)).padEnd(12))}${paint(delayMs > 100 ? 'red' : 'green', delay)}`);
  for (const row of rows(bars, axisMs)) line(row);
}
