import {expect, test} from 'vitest';
import {FunctionTool, getFunctionResponses, ToolExecutionMode, type Event} from 'sluice';
import {ReflectAndRetryToolPlugin} from 'sluice/plugins';
import {collect, functionCalls} from 'sluice/testing';
import {z} from 'zod';
import {stage, type StageOptions} from '../stories/kit.ts';

/** Fails on a number below 0, and on one that is none. */
const root = new FunctionTool({
  name: 'root',
  description: 'The square root.',
  parameters: z.object({of: z.number()}),
  execute: ({of}) => {
    if (of < 0) throw new Error(`${of} is negative`);
    return Math.sqrt(of);
  },
});

const call = (of: unknown) => functionCalls({name: 'root', args: {of}});

function retrying(maxRetries: number | undefined, steps: StageOptions['steps'] = [], more: Partial<StageOptions> = {}) {
  return stage({steps, agent: {tools: [root]}, runner: {plugins: [new ReflectAndRetryToolPlugin({maxRetries})]}, ...more});
}

const responsesOf = (events: readonly Event[]) => events.flatMap(getFunctionResponses).map(({response}) => response ?? {});
/** A response without the words. */
const brief = ({reflection, ...rest}: Record<string, unknown>) => ({...rest, ...(reflection !== undefined && {reflects: true})});

test('a failed call tells the model what went wrong and asks it to think', async () => {
  const it = await retrying(undefined, [call(-1), call(4), 'It is 2.']);
  const {events, outcome} = await collect(it.run());
  expect(outcome.kind).toBe('done');
  expect(responsesOf(events)).toEqual([
    {
      error: '-1 is negative',
      retry: 1,
      reflection: [
        'The call of `root` with {"of":-1} failed. Do not repeat it unchanged. Before the next step, think about:',
        '1. Arguments: does each have the type, the format and the meaning that the tool asks for? Is one missing?',
        '2. Order: does the tool need something that another call has to bring first?',
        '3. Cause: what does the error say about why it failed, and would another call avoid that?',
        '4. Way: is there another tool, or another way, to the same end?',
        'Then try again, or go another way.',
      ].join('\n'),
    },
    {result: 2},
  ]);
  expect(it.model.requests[1]?.contents.at(-1)?.parts?.[0]?.functionResponse?.response).toEqual(responsesOf(events)[0]);
});

test('after maxRetries failures in a row the error stands, however often it is tried', async () => {
  const it = await retrying(2, [call(-1), call('x'), call(-3), call(-4), 'I give up.']);
  const {events, outcome} = await collect(it.run());
  expect(outcome.kind).toBe('done');
  expect(responsesOf(events).map(brief)).toEqual([
    {error: '-1 is negative', retry: 1, reflects: true},
    {error: expect.stringContaining('of'), retry: 2, reflects: true},
    {error: '-3 is negative'},
    {error: '-4 is negative'},
  ]);
});

test('a success, another run and another tool start anew', async () => {
  const other = new FunctionTool({
    name: 'other',
    description: 'Fails.',
    execute: () => {
      throw new Error('out of order');
    },
  });
  const it = await retrying(1, [call(-1), functionCalls({name: 'other'}), call(9), call(-2), 'done', call(-3), 'done'], {
    agent: {tools: [root, other]},
  });
  const first = await collect(it.run());
  const second = await collect(it.run());
  expect(responsesOf([...first.events, ...second.events]).map(brief)).toEqual([
    {error: '-1 is negative', retry: 1, reflects: true},
    {error: 'out of order', retry: 1, reflects: true},
    {result: 3},
    {error: '-2 is negative', retry: 1, reflects: true},
    {error: '-3 is negative', retry: 1, reflects: true},
  ]);
});

test.each([ToolExecutionMode.PARALLEL, ToolExecutionMode.SEQUENTIAL])(
  'calls that fail side by side count once in mode %s',
  async (toolExecutionMode) => {
    const pair = functionCalls(...[-1, -2].map((of) => ({name: 'root', args: {of}})));
    const it = await retrying(1, [pair, pair, 'done'], {runConfig: {toolExecutionMode}});
    const {events} = await collect(it.run());
    expect(responsesOf(events).map(brief)).toEqual([
      {error: '-1 is negative', retry: 1, reflects: true},
      {error: '-2 is negative', retry: 1, reflects: true},
      {error: '-1 is negative'},
      {error: '-2 is negative'},
    ]);
  },
);

test('with maxRetries 0 every error stands', async () => {
  const it = await retrying(0, [call(-1), 'done']);
  const {events} = await collect(it.run());
  expect(responsesOf(events)).toEqual([{error: '-1 is negative'}]);
});
