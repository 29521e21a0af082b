import {call, says, type Program} from '../stage.ts';

/** An `InMemoryRunner` that is given no services, and a tool that saves a file. */
export const program: Program = async ({FunctionTool, InMemoryRunner, LlmAgent}, {model, read}) => {
  const save = new FunctionTool({
    name: 'save',
    description: 'Saves a note.',
    execute: async (_, context) => ({version: await context?.saveArtifact('note.txt', {text: 'Noted.'})}),
  });
  const rootAgent = new LlmAgent({
    name: 'secretary',
    model: model('secretary', [[call('save')], 'Saved.']),
    instruction: 'Save.',
    tools: [save],
  });
  const runner = new InMemoryRunner({agent: rootAgent, appName: 'notes'});
  const session = await runner.sessionService.createSession({appName: 'notes', userId: 'ada'});
  for await (const event of runner.runAsync({userId: 'ada', sessionId: session.id, newMessage: says('Note this.')})) read(event);
};
