import {call, says, type Program} from '../stage.ts';

/** An agent as a tool whose answer is the last word, and what it writes that lives as long as its run. */
export const program: Program = async ({AgentTool, InMemoryRunner, LlmAgent}, {model, read}) => {
  const translator = new LlmAgent({
    name: 'translator',
    description: 'Translates into French.',
    model: model('translator', ['Bonjour.']),
    instruction: 'Translate.',
    outputKey: 'temp:draft',
  });
  const rootAgent = new LlmAgent({
    name: 'clerk',
    model: model('clerk', [[call('translator', {request: 'Hello.'})], 'It is Bonjour.']),
    instruction: 'Use your tools.',
    tools: [new AgentTool({agent: translator, skipSummarization: true})],
  });
  const runner = new InMemoryRunner({agent: rootAgent, appName: 'office'});
  const session = await runner.sessionService.createSession({appName: 'office', userId: 'ada'});
  for await (const event of runner.runAsync({userId: 'ada', sessionId: session.id, newMessage: says('Hello in French?')})) read(event);
};
