import {call, says, type Program} from '../stage.ts';

/** A model that never stops calling, and a run that may ask it twice. */
export const program: Program = async ({FunctionTool, InMemoryRunner, LlmAgent}, {model, note, read}) => {
  const look = new FunctionTool({name: 'look', description: 'Looks again.', execute: () => ({found: false})});
  const rootAgent = new LlmAgent({
    name: 'seeker',
    model: model('seeker', [[call('look')], [call('look')], [call('look')]]),
    instruction: 'Seek.',
    tools: [look],
  });
  const runner = new InMemoryRunner({agent: rootAgent, appName: 'search'});
  const session = await runner.sessionService.createSession({appName: 'search', userId: 'ada'});
  const run = runner.runAsync({userId: 'ada', sessionId: session.id, newMessage: says('Seek.'), runConfig: {maxLlmCalls: 2}});
  try {
    for await (const event of run) read(event);
  } catch (error) {
    note('caught', (error as Error).name);
  }
};
