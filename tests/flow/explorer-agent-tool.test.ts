import {describe, expect, test} from 'vitest';
import {AgentTool, type LlmAgent} from 'sluice';
import {deaf, deltas, functionCalls, ScheduleExplorer, ScriptedLlm, type ScenarioFactory} from 'sluice/testing';
import {after, calls, never, scenario, slow} from '../stories/explorer-scenarios.ts';
import {agent, pay} from './explorer-scenarios.ts';

const inner = (): LlmAgent => agent('inner', [calls('slow'), after(5, deltas('In', 'side.'))], {tools: [slow('slow', 10)]});

const asTools: Readonly<Record<string, ScenarioFactory>> = {
  'an agent as a tool, beside another': scenario({
    agent: () =>
      agent('outer', [functionCalls({name: 'inner', args: {request: 'Go'}}, {name: 'slow'}), 'Done.'], {
        tools: [new AgentTool({agent: inner()}), slow('slow', 5)],
      }),
  }),
  'an agent as a tool that shows what it does': scenario({
    agent: () =>
      agent('outer', [functionCalls({name: 'inner', args: {request: 'Go'}}), 'Done.'], {
        tools: [new AgentTool({agent: inner(), streamEvents: true})],
      }),
  }),
  'an agent as a tool with a deaf model': scenario({
    agent: () =>
      agent('outer', [functionCalls({name: 'inner', args: {request: 'Go'}}), 'Done.'], {
        tools: [new AgentTool({agent: agent('inner', [], {model: new ScriptedLlm({model: 'deaf', steps: [deaf(after(400, 'Late.'))]})})})],
      }),
  }),
  'an agent as a tool with a deaf tool': scenario({
    agent: () =>
      agent('outer', [functionCalls({name: 'inner', args: {request: 'Go'}}), 'Done.'], {
        tools: [new AgentTool({agent: agent('inner', [calls('never'), 'Done.'], {tools: [never('never', {timeoutMs: 60})]})})],
      }),
  }),
  'an agent as a tool that would ask': scenario({
    agent: () =>
      agent('outer', [functionCalls({name: 'inner', args: {request: 'Go'}}), 'Done.'], {
        tools: [new AgentTool({agent: agent('inner', [calls('pay')], {tools: [pay()]})})],
      }),
  }),
};

describe('a stop at any moment keeps the contract with', () => {
  for (const [name, scenario] of Object.entries(asTools)) {
    test(name, async () => {
      const report = await new ScheduleExplorer({scenario, maxSchedules: 150, randomSchedules: 30}).explore();

      expect(report.schedules).toBeGreaterThan(150);
    });
  }
});
