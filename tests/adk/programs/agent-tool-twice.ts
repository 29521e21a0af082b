import {call, says, type Program} from '../stage.ts';

/** One agent, called as a tool twice. */
export const program: Program = async ({AgentTool, InMemoryRunner, LlmAgent}, {model, read}) => {
  const translator = new LlmAgent({name: 'translator', model: model('translator', ['Bonjour.', 'Merci.']), instruction: 'Translate.'});
  const rootAgent = new LlmAgent({
    name: 'clerk',
    model: model('clerk', [[call('translator', {request: 'Hello.'})], [call('translator', {request: 'Thanks.'})], 'Done.']),
    instruction: 'Use your tool.',
    tools: [new AgentTool({agent: translator, skipSummarization: false})],
  });
  const runner = new InMemoryRunner({agent: rootAgent, appName: 'office'});
  const session = await runner.sessionService.createSession({appName: 'office', userId: 'ada'});
  for await (const event of runner.runAsync({userId: 'ada', sessionId: session.id, newMessage: says('Hello and thanks.')})) read(event);
};
