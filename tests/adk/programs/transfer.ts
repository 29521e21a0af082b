import {call, says, type Program} from '../stage.ts';

/** A coordinator that hands over, and a later turn that goes on where it was handed. */
export const program: Program = async ({InMemoryRunner, LlmAgent}, {model, note, read}) => {
  const greeter = new LlmAgent({
    name: 'greeter',
    model: model('greeter', ['Hello!', [call('transfer_to_agent', {agentName: 'biller'})]]),
    description: 'Says hello.',
    instruction: 'Greet the user.',
  });
  const biller = new LlmAgent({
    name: 'biller',
    model: model('biller', ['Your bill is 12.']),
    description: 'Knows the bills.',
    instruction: 'Answer about bills.',
  });
  const rootAgent = new LlmAgent({
    name: 'desk',
    model: model('desk', [[{text: 'One moment.'}, call('transfer_to_agent', {agentName: 'greeter'})]]),
    instruction: 'Find who can help.',
    subAgents: [greeter, biller],
  });
  const runner = new InMemoryRunner({agent: rootAgent, appName: 'desk'});
  const session = await runner.sessionService.createSession({appName: 'desk', userId: 'ada'});
  for (const text of ['Hello?', 'What is my bill?']) {
    for await (const event of runner.runAsync({userId: 'ada', sessionId: session.id, newMessage: says(text)})) read(event);
  }
  note('tree', [greeter.rootAgent.name, greeter.parentAgent?.name, rootAgent.findAgent('biller')?.description]);
};
