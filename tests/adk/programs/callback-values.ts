import {call, says, type Program} from '../stage.ts';

/** Tools whose results are no objects, and what a callback after them is given. */
export const program: Program = async ({FunctionTool, InMemoryRunner, LlmAgent}, {model, note, read}) => {
  const seen: string[] = [];
  const count = new FunctionTool({name: 'count', description: 'Counts.', execute: () => 7});
  const forget = new FunctionTool({name: 'forget', description: 'Forgets.', execute: () => undefined});
  const rootAgent = new LlmAgent({
    name: 'counter',
    model: model('counter', [[call('count')], [call('forget')], 'Done.']),
    tools: [count, forget],
    afterToolCallback: ({tool, response}) => {
      seen.push(`${tool.name} ${JSON.stringify(response)}`);
      return undefined;
    },
  });
  const runner = new InMemoryRunner({agent: rootAgent, appName: 'counts'});
  const session = await runner.sessionService.createSession({appName: 'counts', userId: 'ada'});
  for await (const event of runner.runAsync({userId: 'ada', sessionId: session.id, newMessage: says('Count.')})) read(event);
  note('seen', seen);
};
