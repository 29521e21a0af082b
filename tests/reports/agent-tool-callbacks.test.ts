import {expect, test} from 'vitest';
import {AgentTool} from 'sluice';
import {collect, functionCalls} from 'sluice/testing';
import {z} from 'zod';
import {line, stage} from '../stories/kit.ts';
import {scripted} from './desk.ts';

const ask = functionCalls({name: 'expert', args: {request: '?'}});

// google/adk-js#175 (state that callbacks write), google/adk-python#3467 (empty answers).
test.each([
  ['what it said', {}, '{"result":"Forty-two."}', 'Forty-two.'],
  ['its output', {outputSchema: z.object({n: z.number()})}, '{"n":42}', '{"n":42}'],
])('an agent whose afterAgentCallback writes to the state answers its caller with %s', async (_, config, response, said) => {
  const after = {
    ...config,
    afterAgentCallback: ({state}: {state: {set(key: string, value: unknown): void}}) => state.set('seen', true),
  };
  const it = await stage({steps: [ask, 'done'], agent: {tools: [new AgentTool({agent: scripted('expert', [said], after)})]}});
  const {events} = await collect(it.run());
  expect(events.map(line)[1]).toBe(`root: expert=${response}`);
});
