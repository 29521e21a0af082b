import {call, says, type Program} from '../stage.ts';

/** An instruction of the root that holds for all agents, filled in from the state. */
export const program: Program = async ({InMemoryRunner, LlmAgent}, {model, read}) => {
  const cook = new LlmAgent({
    name: 'cook',
    model: model('cook', ['Soup.']),
    description: 'Cooks.',
    instruction: 'Name a dish.',
    disallowTransferToParent: true,
    disallowTransferToPeers: true,
  });
  const rootAgent = new LlmAgent({
    name: 'host',
    model: model('host', [[call('transfer_to_agent', {agentName: 'cook'})]]),
    globalInstruction: 'Speak {language}.',
    instruction: 'Welcome the guest.',
    subAgents: [cook],
  });
  const runner = new InMemoryRunner({agent: rootAgent, appName: 'inn'});
  const session = await runner.sessionService.createSession({appName: 'inn', userId: 'ada', state: {language: 'English'}});
  for await (const event of runner.runAsync({userId: 'ada', sessionId: session.id, newMessage: says('I am hungry.')})) read(event);
};
