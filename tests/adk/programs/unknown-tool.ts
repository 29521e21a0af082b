import {call, says, type Program} from '../stage.ts';

/** A model that calls a tool that is not there, beside one that is. */
export const program: Program = async ({FunctionTool, InMemoryRunner, LlmAgent}, {model, read}) => {
  const getTime = new FunctionTool({name: 'get_time', description: 'Returns the time.', execute: () => ({time: '12:00'})});
  const rootAgent = new LlmAgent({
    name: 'clock',
    model: model('clock', [[call('get_time'), call('get_date')], 'It is noon.']),
    instruction: 'Tell the time.',
    tools: [getTime],
  });
  const runner = new InMemoryRunner({agent: rootAgent, appName: 'clock'});
  const session = await runner.sessionService.createSession({appName: 'clock', userId: 'ada'});
  for await (const event of runner.runAsync({userId: 'ada', sessionId: session.id, newMessage: says('When?')})) read(event);
};
