import {expect, test} from 'vitest';
import {FunctionTool, ToolExecutionMode, type Diagnostic, type FunctionToolOptions, type RunConfig} from 'sluice';
import {collect, functionCalls} from 'sluice/testing';
import {idle, stage} from './kit.ts';

/** Blocks the event loop, as a loop that computes does. */
function block(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

/** The diagnostics of a run whose model calls these tools at once. */
async function told(bodies: Readonly<Record<string, FunctionToolOptions['execute']>>, runConfig: RunConfig = {}): Promise<Diagnostic[]> {
  const tools = Object.entries(bodies).map(([name, execute]) => new FunctionTool({name, description: '', execute: execute ?? (() => 1)}));
  const it = await stage({steps: [functionCalls(...tools.map(({name}) => ({name, args: {}}))), 'done'], agent: {tools}, runConfig});
  expect((await collect(it.run())).outcome.kind).toBe('done');
  return it.diagnostics;
}

const names = (diagnostics: readonly Diagnostic[]): string[] => diagnostics.map(({code, name}) => `${code} ${name}`);

test('a body that blocks in its synchronous start is named, with the time and the cure; its siblings are not', async () => {
  const diagnostics = await told({quick: async () => idle(), slow: () => block(150)});
  expect(names(diagnostics)).toEqual(['LOOP_BLOCKED slow']);
  const [blocked] = diagnostics;
  expect(blocked?.code === 'LOOP_BLOCKED' && blocked.blockedMs).toBeGreaterThanOrEqual(149);
  expect(blocked?.message).toMatch(/^`slow` blocked the event loop, .* for 1\d\d ms; a tool that blocks needs a `worker`$/);
});

test('a body that blocks after its first await is told as one of those that ran', async () => {
  const slow = async (): Promise<void> => {
    await idle();
    block(200);
  };
  const waiting = async (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 250));
  const both = await told({slow, waiting});
  expect(names(both)).toEqual(['LOOP_BLOCKED slow, waiting']);
  expect(both[0]?.message).toMatch(/^While `slow, waiting` ran, something blocked the event loop, /);
  expect(names(await told({slow}))).toEqual(['LOOP_BLOCKED slow']);
});

test('a step of a generator body that blocks is named', async () => {
  const steps = async function* (): AsyncGenerator<number, void, undefined> {
    yield 1;
    block(150);
    yield 2;
  };
  expect(names(await told({steps}))).toEqual(['LOOP_BLOCKED steps']);
});

test('a generator body that waits for its reader is not blamed for what blocks meanwhile', async () => {
  const tool = new FunctionTool({
    name: 'steps',
    description: '',
    async *execute() {
      yield 1;
      yield 2;
    },
  });
  const it = await stage({steps: [functionCalls({name: 'steps', args: {}}), 'done'], agent: {tools: [tool]}});
  for await (const event of it.run()) {
    if (!event.partial) continue;
    block(150);
    await idle();
  }
  expect(it.diagnostics).toEqual([]);
});

test('runConfig.blockedLoopMs says what is too long, and Infinity turns the watch off', async () => {
  expect(names(await told({slow: () => block(150)}, {blockedLoopMs: 1_000}))).toEqual([]);
  expect(names(await told({slow: () => block(150)}, {blockedLoopMs: Infinity}))).toEqual([]);
  expect(names(await told({slow: () => block(30)}, {blockedLoopMs: 10}))).toEqual(['LOOP_BLOCKED slow']);
});

test('a body that is known to have blocked is the only one to blame, in whichever run the others are', async () => {
  const waiting = Promise.withResolvers<void>();
  const other = told({sleeping: () => waiting.promise});
  await idle();
  expect(names(await told({slow: () => block(200)}))).toEqual(['LOOP_BLOCKED slow']);
  waiting.resolve();
  expect(names(await other)).toEqual([]);
});

test('tools of one name that ran while something blocked are named once', async () => {
  const tool = new FunctionTool({name: 'sleeps', description: '', execute: () => new Promise((resolve) => setTimeout(resolve, 250))});
  const calls = functionCalls(...Array.from({length: 3}, () => ({name: 'sleeps', args: {}})));
  const it = await stage({steps: [calls, 'done'], agent: {tools: [tool]}});
  const reading = collect(it.run());
  await idle();
  await idle();
  block(200);
  await reading;
  expect(names(it.diagnostics)).toEqual(['LOOP_BLOCKED sleeps']);
});

test('a chain of short calls that keeps the loop busy blames none of them', async () => {
  const tool = new FunctionTool({name: 'short', description: '', execute: () => block(2)});
  const calls = functionCalls(...Array.from({length: 10}, () => ({name: 'short', args: {}})));
  const it = await stage({steps: [...Array.from({length: 10}, () => calls), 'done'], agent: {tools: [tool]}});
  await collect(it.run('go', {runConfig: {toolExecutionMode: ToolExecutionMode.SEQUENTIAL}}));
  expect(it.diagnostics).toEqual([]);
});

test.each([0, -1, '100'])('blockedLoopMs: %j is refused', async (blockedLoopMs) => {
  const it = await stage();
  const {error} = await collect(it.run('go', {runConfig: {blockedLoopMs: blockedLoopMs as number}}));
  expect(error).toMatchObject({code: 'INVALID_OPTION', option: 'runConfig.blockedLoopMs'});
});
