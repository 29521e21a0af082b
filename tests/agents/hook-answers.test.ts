import {describe, expect, test} from 'vitest';
import {FunctionTool, HookError, LlmAgent, LoopAgent, ParallelAgent, SequentialAgent, InvalidOptionError} from 'sluice';
import {LoggingPlugin} from 'sluice/plugins';
import {collect, functionCalls, ScriptedLlm} from 'sluice/testing';
import {expectValid, lines, stage} from '../stories/kit.ts';

const look = new FunctionTool({name: 'look', description: 'Looks.', execute: () => 'seen'});

describe('an answer of a hook that is none', () => {
  test.each([
    ['beforeAgentCallback', 'a word', 'blocked'],
    ['beforeAgentCallback', 'no parts', {role: 'model'}],
    ['beforeAgentCallback', 'a call', {parts: [{functionCall: {name: 'look'}}]}],
    ['afterAgentCallback', 'parts that are none', {parts: [1]}],
    ['afterAgentCallback', 'a response', {parts: [{functionResponse: {name: 'look', response: {}}}]}],
    ['beforeModelCallback', 'a word', 'blocked'],
    ['beforeModelCallback', 'a content', {role: 'model', parts: [{text: 'no'}]}],
    ['beforeModelCallback', 'a piece', {content: {parts: [{text: 'no'}]}, partial: true}],
    ['afterModelCallback', 'a word', 'x'],
    ['afterModelCallback', 'a content', {role: 'model', parts: []}],
  ])('is an error of %s that names it: %s', async (hook, _, answer) => {
    const it = await stage({steps: ['Hello.', 'Hello.'], agent: {[hook]: () => answer}});
    const {error} = await collect(it.run());
    expect(error).toBeInstanceOf(HookError);
    expect(error).toMatchObject({hook, cause: {code: 'INVALID_OPTION'}});
    expectValid(await it.stored());
  });

  test('of onModelErrorCallback is its error, and not the one of the model', async () => {
    const it = await stage({steps: [new Error('down')], agent: {onModelErrorCallback: () => 'sorry' as never}});
    expect((await collect(it.run())).error).toMatchObject({name: 'HookError', hook: 'onModelErrorCallback'});
  });
});

test('null from a hook says as much as nothing', async () => {
  const nothing = (): never => null as never;
  const hooks = {
    beforeAgentCallback: nothing,
    afterAgentCallback: nothing,
    beforeModelCallback: nothing,
    afterModelCallback: nothing,
    beforeToolCallback: [nothing, () => undefined],
    afterToolCallback: [nothing, () => ({result: 'looked at'})],
  };
  const it = await stage({steps: [functionCalls({name: 'look'}), 'Done.'], agent: {tools: [look], ...hooks}});
  expect(await lines(it.run())).toEqual(['root: look({})', 'root: look={"result":"looked at"}', 'root: "Done."']);
});

describe('options that cannot be meant', () => {
  const agents = (): LlmAgent[] => [new LlmAgent({name: 'a', model: new ScriptedLlm()})];

  test.each([
    [
      'LoopAgent',
      () => new LoopAgent({name: 'loop', subAgents: agents(), maxIteration: 3} as never),
      /maxIteration.*did you mean `maxIterations`/,
    ],
    ['SequentialAgent', () => new SequentialAgent({name: 'seq', subAgent: agents()} as never), /subAgent.*did you mean `subAgents`/],
    ['ParallelAgent', () => new ParallelAgent({name: 'par', subAgents: agents(), limit: 2} as never), /limit/],
  ])('are refused by a %s', (_, make, message) => {
    expect(make).toThrow(InvalidOptionError);
    expect(make).toThrow(message);
  });

  test('are refused by a runner: a plugin that is a class', async () => {
    await expect(stage({runner: {plugins: [LoggingPlugin as never]}})).rejects.toThrow(/plugins/);
  });

  test('an agent cannot be given tools or agents behind its back', () => {
    const agent = new LlmAgent({name: 'root', model: new ScriptedLlm(), tools: [look], subAgents: agents()});
    expect(() => (agent.tools as unknown[]).push(look)).toThrow(TypeError);
    expect(() => (agent.subAgents as unknown[]).push(agent)).toThrow(TypeError);
    expect([agent.tools.length, agent.subAgents.length]).toEqual([1, 1]);
  });
});
