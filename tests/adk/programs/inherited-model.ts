import {call, says, type Program} from '../stage.ts';

/** Agents that name no model ask that of the agent above them. */
export const program: Program = async ({InMemoryRunner, LlmAgent, SequentialAgent}, {model, note, read}) => {
  const writer = new LlmAgent({name: 'writer', instruction: 'Write a line.'});
  const critic = new LlmAgent({name: 'critic', instruction: 'Criticise it.'});
  const poets = new SequentialAgent({name: 'poets', description: 'Write a poem.', subAgents: [writer, critic]});
  const rootAgent = new LlmAgent({
    name: 'desk',
    model: model('desk', [[call('transfer_to_agent', {agentName: 'poets'})], 'Roses are red.', 'Too short.']),
    instruction: 'Find who can help.',
    subAgents: [poets],
  });
  const runner = new InMemoryRunner({agent: rootAgent, appName: 'desk'});
  const session = await runner.sessionService.createSession({appName: 'desk', userId: 'ada'});
  for await (const event of runner.runAsync({userId: 'ada', sessionId: session.id, newMessage: says('A poem, please.')})) read(event);
  note('model', [writer.model ?? '', writer.canonicalModel.model]);
};
