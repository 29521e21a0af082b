import {expect, test} from 'vitest';
import {getFunctionResponses, InMemorySessionService, type Event, type FunctionTool} from 'sluice';
import {ScheduleError, ScheduleExplorer, type ScenarioFactory, type Schedule} from 'sluice/testing';
import {agent, answering, pay, payer} from '../flow/explorer-scenarios.ts';
import {calls, scenario, slow} from '../stories/explorer-scenarios.ts';

const plain: Schedule = {toolExecutionMode: 'parallel', streamingMode: 'none', stops: []};

/** The fault that an explorer finds. */
async function faultOf(scenario: ScenarioFactory): Promise<ScheduleError> {
  const explorer = new ScheduleExplorer({scenario, modes: [plain], maxSchedules: 400, randomSchedules: 0});
  const error: unknown = await explorer.explore().catch((thrown: unknown) => thrown);
  if (!(error instanceof ScheduleError)) throw new Error('no fault was found', {cause: error});
  return error;
}

/** A store that keeps no response of a call that was cancelled. */
class LossyStore extends InMemorySessionService {
  override async appendEvent(request: Parameters<InMemorySessionService['appendEvent']>[0]): Promise<Event> {
    const isCancelled = getFunctionResponses(request.event).some(({response}) => response?.['error'] === 'cancelled');
    return isCancelled ? request.event : super.appendEvent(request);
  }
}

test('ScheduleExplorer lets time pass for the runs that a scenario reads before, and counts from the explored one', async () => {
  const waits = answering({agent: () => agent('payer', [calls('slow', 'pay'), 'Paid.'], {tools: [slow('slow', 5_000), pay()]})});

  const landmarks = await new ScheduleExplorer({scenario: waits}).replay(plain);

  expect(landmarks.slice(0, 2)).toEqual(['created', 'start']);
  expect(landmarks.filter((name) => /^(timer|tool)/.test(name))).toEqual(['tool pay starts #1', 'timer 1', 'tool pay ends #1']);
});

test('ScheduleExplorer finds a confirmed call that is lost when the run is stopped', async () => {
  const fault = await faultOf(answering({agent: () => payer(), service: () => new LossyStore()}));

  expect(fault.message).toContain('the user has answered what pay(');
  expect(fault.schedule.stops).toHaveLength(1);
});

test('ScheduleExplorer finds a confirmed call that runs twice', async () => {
  const tool: FunctionTool = pay({
    execute: async (args, context) => {
      const isAgain = 'again' in args;
      return isAgain ? {paid: 1} : tool.runAsync({args: {again: true}, toolContext: context});
    },
  });

  const fault = await faultOf(answering({agent: () => agent('payer', [calls('pay'), 'Paid.'], {tools: [tool]})}));

  expect(fault).toMatchObject({clause: 'granted', message: expect.stringContaining(') ran twice')});
});

test('ScheduleExplorer finds a call that runs before the user has confirmed it', async () => {
  const tool = pay({execute: () => ({paid: 1})});
  const eager = scenario({
    agent: () =>
      agent('payer', [calls('pay'), 'Paid.'], {
        tools: [tool],
        beforeToolCallback: async ({args, context}) => {
          await tool.runAsync({args, toolContext: context});
        },
      }),
  });

  expect(await faultOf(eager)).toMatchObject({clause: 'granted', message: expect.stringContaining('ran, and the user was not asked')});
});
