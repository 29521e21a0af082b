import {expect, test} from 'vitest';
import {FunctionTool} from 'sluice';
import {collect, functionCalls} from 'sluice/testing';
import {z} from 'zod';
import {stage} from '../stories/kit.ts';

// google/adk-js#411, #412: the run ends on the first output that fits.
test('of two outputs in one reply the one that fits ends the run', async () => {
  const look = new FunctionTool({name: 'look', description: 'Looks.', execute: () => 1});
  const both = functionCalls({name: 'set_model_response', args: {n: 'x'}}, {name: 'set_model_response', args: {n: 2}});
  const it = await stage({
    steps: [both, 'never asked', 'never asked', 'never asked'],
    agent: {tools: [look], outputSchema: z.object({n: z.number()})},
  });
  const {events, outcome} = await collect(it.run());
  expect([events.at(-1)?.output, outcome.llmCalls]).toEqual([{n: 2}, 1]);
});
