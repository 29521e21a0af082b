import {describe, expect, test} from 'vitest';
import {AgentTool, FunctionTool, LlmAgent, RunIncompleteError, type LlmAgentConfig} from 'sluice';
import {ReflectAndRetryToolPlugin} from 'sluice/plugins';
import {functionCalls, ScriptedLlm, type ScriptedStep} from 'sluice/testing';
import {z} from 'zod';
import {stage} from '../stories/kit.ts';

const outputSchema = z.object({n: z.number()});
const give = (n: unknown): ScriptedStep => functionCalls({name: 'set_model_response', args: {n}});
const look = new FunctionTool({name: 'look', description: 'Looks.', execute: () => 'seen'});
const newMessage = {role: 'user', parts: [{text: 'go'}]};
const user = {userId: 'u', sessionId: 's', newMessage};

describe('a response that a hook gives for set_model_response', () => {
  test('is told to the model, and is not the output, where it does not have its form', async () => {
    const it = await stage({
      steps: [give('five'), give(5)],
      agent: {tools: [look], outputSchema},
      runner: {plugins: [new ReflectAndRetryToolPlugin()]},
    });
    expect((await it.runner.run(user)).output).toEqual({n: 5});
    expect(it.model.requests[1]?.contents.at(-1)?.parts?.[0]?.functionResponse?.response).toHaveProperty('reflection');
  });

  test.each([
    ['beforeToolCallback', {beforeToolCallback: () => ({n: 7})}, {n: 7}],
    ['afterToolCallback', {afterToolCallback: () => ({n: 8})}, {n: 8}],
  ] as [string, Partial<LlmAgentConfig>, object][])('is the output where it has its form: %s', async (_, hooks, output) => {
    const it = await stage({steps: [give(5)], agent: {tools: [look], outputSchema, ...hooks}});
    expect((await it.runner.run(user)).output).toEqual(output);
  });

  test('is refused as often as a model may be wrong, and then ends the run', async () => {
    const afterToolCallback = (): object => ({denied: true});
    const it = await stage({
      steps: [give(1), give(2), give(3)],
      agent: {tools: [look], outputSchema, afterToolCallback: afterToolCallback as never},
    });
    await expect(it.runner.run(user)).rejects.toMatchObject({code: 'INVALID_OUTPUT'});
    expect(it.model.calls).toBe(3);
  });

  test('of a schema that changes what it is given is what the schema made of it', async () => {
    const changing = z.object({n: z.string().transform(Number)});
    const it = await stage({steps: [give('5')], agent: {tools: [look], outputSchema: changing}});
    expect((await it.runner.run(user)).output).toEqual({n: 5});
  });
});

describe('runner.run of an agent with an outputSchema', () => {
  const root = (config: Partial<LlmAgentConfig>, ...steps: readonly ScriptedStep[]): LlmAgent =>
    new LlmAgent({name: 'root', model: new ScriptedLlm({steps}), outputSchema, ...config});

  test('gives the output though a callback speaks after it', async () => {
    const agent = root({afterAgentCallback: () => ({parts: [{text: 'Bye.'}]})}, '{"n": 5}');
    const {output, text} = await (await stage({runner: {agent}})).runner.run(user);
    expect([output, text]).toEqual([{n: 5}, 'Bye.']);
  });

  const hand = functionCalls({name: 'transfer_to_agent', args: {agentName: 'sub'}});
  const sub = (config: Partial<LlmAgentConfig>, ...steps: readonly ScriptedStep[]): LlmAgent =>
    new LlmAgent({name: 'sub', model: new ScriptedLlm({steps}), ...config});

  test.each([
    ['a callback answers instead', () => root({beforeAgentCallback: () => ({parts: [{text: 'No.'}]})})],
    ['it hands over to an agent without a form', () => root({subAgents: [sub({}, 'words')]}, hand)],
    [
      'it hands over to an agent with another form',
      () => root({subAgents: [sub({outputSchema: z.object({z: z.string()})}, '{"z": "other"}')]}, hand),
    ],
    [
      'a tool ends the run',
      () => {
        const inner = new LlmAgent({name: 'inner', model: new ScriptedLlm({steps: ['words']})});
        return root(
          {tools: [new AgentTool({agent: inner, skipSummarization: true})]},
          functionCalls({name: 'inner', args: {request: 'x'}}),
        );
      },
    ],
  ])('rejects where %s, and keeps what was said', async (_, make) => {
    const it = await stage({runner: {agent: make()}});
    const failure: unknown = await it.runner.run(user).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(RunIncompleteError);
    expect(failure).toMatchObject({code: 'NO_OUTPUT', events: (await it.stored()).slice(1)});
  });

  test('gives a Date as JSON does', async () => {
    const dated = new LlmAgent({
      name: 'root',
      model: new ScriptedLlm({steps: ['{"on": "2026-01-02"}']}),
      outputSchema: z.object({on: z.string().transform((text) => new Date(text))}),
    });
    const it = await stage({runner: {agent: dated}});
    expect((await it.runner.run(user)).output).toEqual({on: '2026-01-02T00:00:00.000Z'});
  });
});
