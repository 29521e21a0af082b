// google/adk-python#3220: what a callback says or writes behind an agent is no word in the conversation.
import {describe, expect, test} from 'vitest';
import {AgentTool, InMemoryRunner, SequentialAgent, type LlmAgentConfig} from 'sluice';
import {functionCalls, type ScriptedStep} from 'sluice/testing';
import {Desk, scripted} from './desk.ts';

const handOver = functionCalls({name: 'transfer_to_agent', args: {agentName: 'clerk'}});

test.each<[string, Partial<LlmAgentConfig>]>([
  ['writes to the state', {afterAgentCallback: ({state}) => state.set('seen', true)}],
  ['says something', {afterAgentCallback: () => ({role: 'model', parts: [{text: 'Bye.'}]})}],
])('a hand-over stands although a callback of the agent that handed over %s afterwards', async (_, config) => {
  const tree = (root: ScriptedStep[], clerk: ScriptedStep[]) => scripted('root', root, {...config, subAgents: [scripted('clerk', clerk)]});
  const desk = new Desk();
  await desk.run(tree([handOver], ['Hello.']), 'go');
  expect((await desk.run(tree(['Root.'], ['Again.']), 'and?')).said[0]).toBe('clerk: "Again."');
});

// google/adk-python#5631 with google/adk-python#3220: what a callback writes to the state afterwards is no reply.
describe('a reply that cannot be used, of an agent whose afterAgentCallback writes to the state', () => {
  const after: Partial<LlmAgentConfig> = {afterAgentCallback: ({state}) => state.set('seen', true)};
  const blocked: ScriptedStep = {finishReason: 'SAFETY'};

  test('is told in the outcome', async () => {
    const {events, outcome} = await new Desk().run(scripted('root', [blocked], after), 'go');
    expect([events[0]?.errorCode, outcome.errorCode]).toEqual(['SAFETY', 'SAFETY']);
  });

  test('ends the sequence that it is in', async () => {
    const agent = new SequentialAgent({name: 'all', subAgents: [scripted('a', [blocked], after), scripted('b', ['never asked'])]});
    const {events, outcome} = await new Desk().run(agent, 'go');
    expect([events.map(({author}) => author), outcome.errorCode]).toEqual([['a', 'a'], 'SAFETY']);
  });

  test('is the error of the call that runs it as a tool', async () => {
    const tools = [new AgentTool({agent: scripted('expert', [blocked], after)})];
    const {said} = await new Desk().run(scripted('root', [functionCalls({name: 'expert', args: {request: '?'}}), 'done'], {tools}), 'go');
    expect(said[1]).toMatch(/^root: expert=\{"error":"The agent `expert` ended with SAFETY/);
  });

  test('rejects runner.run', async () => {
    const runner = new InMemoryRunner({agent: scripted('root', [blocked], after)});
    await expect(runner.run({userId: 'u', newMessage: {role: 'user', parts: [{text: 'go'}]}})).rejects.toMatchObject({});
    await runner.close();
  });
});
