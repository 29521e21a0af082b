import {describe, expect, test} from 'vitest';
import type {Content} from 'sluice';
import {ScheduleExplorer, functionCalls, type ScenarioFactory} from 'sluice/testing';
import {LoopAgent} from '../../lib/agents/workflow/loop-agent.ts';
import {ParallelAgent} from '../../lib/agents/workflow/parallel-agent.ts';
import {SequentialAgent} from '../../lib/agents/workflow/sequential-agent.ts';
import {pluginOf} from '../plugins/kit.ts';
import {after, calls, quick, sleep} from '../stories/explorer-scenarios.ts';
import {agent, answering, pay, payer} from './explorer-scenarios.ts';

/** Every plugin hook before the agent's work, each taking its time. */
const hook = async (): Promise<undefined> => sleep(5).then(() => undefined);

/** A hook that has something to say from the second time on. */
function fromTheSecond(text: string): () => Content | undefined {
  let times = 0;
  return () => (++times > 1 ? {role: 'model', parts: [{text}]} : undefined);
}

const scenarios: Readonly<Record<string, ScenarioFactory>> = {
  'a confirmed call in a sequence': answering({
    agent: () => new SequentialAgent({name: 'seq', subAgents: [payer(), agent('next', ['Next.'])]}),
  }),
  'a confirmed call in a branch': answering({
    agent: () => new ParallelAgent({name: 'par', subAgents: [payer(), agent('other', [after(5, 'Other.')])]}),
  }),
  'confirmed calls in two branches': answering({
    agent: () => new ParallelAgent({name: 'par', subAgents: [payer('one'), payer('two')]}),
  }),
  'a confirmed call in one of two branches that wait': answering({
    agent: () => new ParallelAgent({name: 'par', subAgents: [payer('one'), payer('two')]}),
    say: (_, at) => (at === 0 ? {confirmed: true} : undefined),
  }),
  'a confirmed call in a loop': answering({
    agent: () =>
      new LoopAgent({
        name: 'loop',
        maxIterations: 2,
        subAgents: [agent('payer', [calls('quick', 'pay'), 'Paid.', 'Again.'], {tools: [quick('quick'), pay()]})],
      }),
  }),
  'a confirmed call of an agent that was handed over to': answering({
    agent: () => agent('root', [functionCalls({name: 'transfer_to_agent', args: {agentName: 'payer'}})], {subAgents: [payer()]}),
  }),
  'a confirmed call behind hooks of a plugin': answering({
    agent: () => payer(),
    plugins: () => [
      pluginOf('slow', {onUserMessageCallback: hook, beforeRunCallback: hook, beforeAgentCallback: hook, afterRunCallback: hook}),
    ],
  }),
  'a confirmed call, and a plugin that ends the run before it': answering({
    agent: () => payer(),
    plugins: () => [pluginOf('closed', {beforeRunCallback: fromTheSecond('Closed.')})],
  }),
  'a confirmed call, and a plugin that speaks for the agent': answering({
    agent: () => payer(),
    plugins: () => [pluginOf('closed', {beforeAgentCallback: fromTheSecond('Closed.')})],
  }),
  'a confirmed call behind hooks of an agent': answering({
    agent: () =>
      agent('payer', [calls('pay'), 'Paid.'], {
        tools: [pay()],
        beforeAgentCallback: hook,
        beforeToolCallback: hook,
        afterAgentCallback: hook,
      }),
  }),
};

describe('a stop at any moment keeps the contract with', () => {
  for (const [name, scenario] of Object.entries(scenarios)) {
    test(name, async () => {
      const report = await new ScheduleExplorer({scenario, maxSchedules: 150, randomSchedules: 30}).explore();

      expect(report.schedules).toBeGreaterThan(150);
    });
  }
});
