import {expect, test} from 'vitest';
import {FunctionTool, LlmAgent, Runner, type Event} from '../../lib/index.ts';
import {ExitLoopTool, EXIT_LOOP} from '../../lib/tools/exit-loop-tool.ts';
import {getUserChoiceTool} from '../../lib/tools/get-user-choice-tool.ts';
import {functionCalls, ScriptedLlm} from '../../lib/testing/index.ts';
import {expectValid, line, lines, stage} from '../stories/kit.ts';

test('exit_loop escalates, and the model is not asked again', async () => {
  const it = await stage({steps: [functionCalls({id: '1', name: 'exit_loop', args: {}}), 'unused'], agent: {tools: [EXIT_LOOP]}});
  const events: Event[] = [];
  for await (const event of it.run()) events.push(event);
  expect(events.map(line)).toEqual(['root: exit_loop({})', 'root: exit_loop={"result":""}']);
  expect(events.map(({actions}) => [actions.escalate, actions.skipSummarization])).toEqual([
    [undefined, undefined],
    [true, true],
  ]);
  expect(it.model.calls).toBe(1);
  expectValid(await it.stored());
});

test('exit_loop beside other calls lets them finish', async () => {
  const other = new FunctionTool({name: 'other', description: 'Something else.', execute: () => 'done'});
  const calls = functionCalls({id: '1', name: 'exit_loop'}, {id: '2', name: 'other'});
  const it = await stage({steps: [calls], agent: {tools: [new ExitLoopTool(), other]}});
  expect(await lines(it.run())).toEqual(['root: exit_loop({}) other({})', 'root: exit_loop={"result":""} other={"result":"done"}']);
});

test('exit_loop is declared as a function without parameters', () => {
  expect(EXIT_LOOP._getDeclaration()).toEqual({
    name: 'exit_loop',
    description: 'Ends the loop. Call it only when your instructions say that the work is done.',
  });
});

test('get_user_choice ends the run, waiting, and a later run with another runner goes on with the choice', async () => {
  const call = functionCalls({id: 'c', name: 'get_user_choice', args: {options: ['tea', 'coffee']}});
  const it = await stage({steps: [call, 'unused'], agent: {tools: [getUserChoiceTool]}});
  const run = it.run('A drink');
  expect(await lines(run)).toEqual([
    'root: get_user_choice({"options":["tea","coffee"]}) [waits:1]',
    'root: get_user_choice={"status":"pending"} [waits:1]',
  ]);
  expect((await run.settled).kind).toBe('waiting');
  expect(it.model.calls).toBe(1);

  const model = new ScriptedLlm({steps: ['Tea it is.']});
  const agent = new LlmAgent({name: 'root', model, tools: [getUserChoiceTool]});
  const runner = new Runner({agent, appName: 'app', sessionService: it.runner.sessionService});
  const answer = {functionResponse: {id: 'c', name: 'get_user_choice', response: {choice: 'tea'}}};
  const second = runner.runAsync({userId: 'u', sessionId: 's', newMessage: {role: 'user', parts: [answer]}});
  expect(await lines(second)).toEqual(['root: "Tea it is."']);
  expect(model.requests[0]?.contents.at(-1)?.parts?.map(({functionResponse}) => functionResponse?.response)).toEqual([{choice: 'tea'}]);
});

test('get_user_choice without options is refused, and the run goes on', async () => {
  const steps = [functionCalls({id: 'c', name: 'get_user_choice', args: {options: 'tea'}}), 'Sorry.'];
  const it = await stage({steps, agent: {tools: [getUserChoiceTool]}});
  const said = await lines(it.run());
  expect(said[1]).toContain('get_user_choice={"error":');
  expect(said.at(-1)).toBe('root: "Sorry."');
});

test('get_user_choice is declared with its options', () => {
  const {name, parametersJsonSchema} = getUserChoiceTool._getDeclaration();
  expect([name, parametersJsonSchema]).toEqual([
    'get_user_choice',
    {
      type: 'object',
      properties: {options: {type: 'array', items: {type: 'string'}, description: 'What the user may choose from.'}},
      required: ['options'],
    },
  ]);
});
