import {describe, expect, test} from 'vitest';
import {LongRunningFunctionTool, requestInputTool, type FunctionTool} from 'sluice';
import {functionCalls, ScheduleExplorer, type ScenarioFactory} from 'sluice/testing';
import {ParallelAgent} from '../../lib/agents/workflow/parallel-agent.ts';
import {SequentialAgent} from '../../lib/agents/workflow/sequential-agent.ts';
import {calls, quick, scenario, slow} from '../stories/explorer-scenarios.ts';
import {agent, pay} from './explorer-scenarios.ts';

/** Asks for a credential in its body. */
const needsToken = (): FunctionTool =>
  pay({
    requireConfirmation: false,
    execute: (_, context) => {
      context.requestCredential({scheme: 'oauth2'});
      return {asked: true};
    },
  });

const asking: Readonly<Record<string, ScenarioFactory>> = {
  'calls that ask, beside others': scenario({
    agent: () => agent('payer', [calls('quick', 'pay', 'slow', 'pay')], {tools: [quick('quick'), pay(), slow('slow', 10)]}),
  }),
  'a call that asks in its body': scenario({
    agent: () => agent('payer', [calls('pay', 'slow')], {tools: [needsToken(), slow('slow', 10)]}),
  }),
  'branches that ask': scenario({
    agent: () =>
      new SequentialAgent({
        name: 'seq',
        subAgents: [
          new ParallelAgent({
            name: 'par',
            subAgents: [
              agent('one', [calls('pay')], {tools: [pay()]}),
              agent('two', [calls('pay', 'slow')], {tools: [needsToken(), slow('slow', 10)]}),
            ],
          }),
          agent('last', ['Not yet.']),
        ],
      }),
  }),
  'a question of the model’s': scenario({
    agent: () =>
      agent('clerk', [functionCalls({name: 'adk_request_input', args: {message: 'When?'}}, {name: 'slow'})], {
        tools: [requestInputTool, slow('slow', 10)],
      }),
  }),
  'a call that asks, and a long-running one': scenario({
    agent: () =>
      agent('payer', [calls('ask', 'pay')], {
        tools: [new LongRunningFunctionTool({name: 'ask', description: '', execute: () => ({ticket: 1})}), pay()],
      }),
  }),
};

describe('a stop at any moment keeps the contract with', () => {
  for (const [name, scenario] of Object.entries(asking)) {
    test(name, async () => {
      const report = await new ScheduleExplorer({scenario, maxSchedules: 150, randomSchedules: 30}).explore();

      expect(report.schedules).toBeGreaterThan(150);
    });
  }
});
