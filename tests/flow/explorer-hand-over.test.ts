import {describe, expect, test} from 'vitest';
import {deltas, functionCalls, ScheduleExplorer, type ScenarioFactory} from 'sluice/testing';
import {z} from 'zod';
import {SequentialAgent} from '../../lib/agents/workflow/sequential-agent.ts';
import {calls, quick, scenario, slow, stubborn} from '../stories/explorer-scenarios.ts';
import {agent, pay} from './explorer-scenarios.ts';

const handOver = (agentName: string): {name: string; args: Record<string, unknown>} => ({name: 'transfer_to_agent', args: {agentName}});
const giveOutput = (n: unknown): {name: string; args: Record<string, unknown>} => ({name: 'set_model_response', args: {n}});
const outputSchema = z.object({n: z.number()});

const handing: Readonly<Record<string, ScenarioFactory>> = {
  'a hand-over': scenario({
    agent: () => agent('root', [functionCalls(handOver('below'))], {subAgents: [agent('below', [deltas('Go', 'od.')])]}),
  }),
  'a hand-over amid parallel calls': scenario({
    agent: () =>
      agent('root', [functionCalls({name: 'slow'}, handOver('below'), {name: 'quick'})], {
        tools: [slow('slow', 10), quick('quick')],
        subAgents: [agent('below', [calls('slow'), 'Good.'], {tools: [slow('slow', 10)]})],
      }),
  }),
  'a hand-over and back, with calls on the way': scenario({
    agent: () =>
      agent('root', [functionCalls(handOver('below')), 'Here again.'], {
        subAgents: [agent('below', [calls('stubborn'), functionCalls(handOver('root'))], {tools: [stubborn('stubborn', 30)]})],
      }),
  }),
  'a hand-over to an agent that asks': scenario({
    agent: () =>
      agent('root', [functionCalls(handOver('payer'))], {subAgents: [agent('payer', [calls('pay'), 'Paid.'], {tools: [pay()]})]}),
  }),
};

const giving: Readonly<Record<string, ScenarioFactory>> = {
  'output beside a call': scenario({
    agent: () =>
      agent('clerk', [calls('quick'), functionCalls({name: 'slow'}, giveOutput(1))], {
        tools: [quick('quick'), slow('slow', 10)],
        outputSchema,
        outputKey: 'n',
      }),
  }),
  'output that is refused at first': scenario({
    agent: () =>
      agent('clerk', [functionCalls(giveOutput('one')), deltas('It is ', 'one.'), functionCalls(giveOutput(1))], {
        tools: [quick('quick')],
        outputSchema,
      }),
  }),
  'output as text': scenario({
    agent: () => agent('clerk', [deltas('{"n":', ' "one"}'), deltas('{"n":', ' 1}')], {outputSchema}),
  }),
  'output of one agent for the next': scenario({
    agent: () =>
      new SequentialAgent({
        name: 'seq',
        subAgents: [
          agent('clerk', [functionCalls(giveOutput(1))], {tools: [quick('quick')], outputSchema}),
          agent('next', [deltas('One', '.')]),
        ],
      }),
  }),
};

describe('a stop at any moment keeps the contract with', () => {
  for (const [name, scenario] of Object.entries({...handing, ...giving})) {
    test(name, async () => {
      const report = await new ScheduleExplorer({scenario, maxSchedules: 150, randomSchedules: 30}).explore();

      expect(report.schedules).toBeGreaterThan(150);
    });
  }
});
