import {expect, test} from 'vitest';
import {InMemorySessionService, Runner, type LlmResponse} from 'sluice';
import {deltas, functionCalls, ScheduleExplorer, type ScenarioFactory} from 'sluice/testing';
import {clerk, message, sleep, tool} from '../stories/explorer-scenarios.ts';
import {HOOKS, pluginOf, type Hooks} from './kit.ts';

const scenario: ScenarioFactory = async ({landmark}) => {
  const slow = async (name: string): Promise<undefined> => {
    landmark(name);
    await sleep(1);
    return undefined;
  };
  const hooks = Object.fromEntries(HOOKS.map((hook) => [hook, () => slow(hook)])) as Hooks;
  const calls: LlmResponse = functionCalls({name: 'work'}, {name: 'broken'});
  const work = tool('work', async (_args, {abortSignal}) => sleep(3, abortSignal));
  const broken = tool('broken', () => {
    throw new Error('out of order');
  });
  const plugins = [pluginOf('slow', hooks)];
  const sessionService = new InMemorySessionService();
  const agent = clerk([calls, deltas('All ', 'done.')], [work, broken]);
  const runner = new Runner({appName: 'app', agent, sessionService, plugins, onDiagnostic: () => {}});
  await sessionService.createSession({appName: 'app', userId: 'u', sessionId: 's'});
  return {runner, request: {userId: 'u', sessionId: 's', newMessage: message('Hi')}, plugins};
};

test('a stop at any moment keeps the contract with a plugin that has every hook, and takes its time in each', async () => {
  const report = await new ScheduleExplorer({scenario, maxSchedules: 250, randomSchedules: 50}).explore();
  expect(report.schedules).toBeGreaterThan(250);
});
