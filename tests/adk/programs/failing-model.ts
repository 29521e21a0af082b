import {says, type Program} from '../stage.ts';

/** A model that fails, here because it has no reply. */
export const program: Program = async ({InMemoryRunner, LlmAgent}, {model, note, read}) => {
  const rootAgent = new LlmAgent({name: 'mute', model: model('mute', []), instruction: 'Answer.'});
  const runner = new InMemoryRunner({agent: rootAgent, appName: 'silence'});
  const session = await runner.sessionService.createSession({appName: 'silence', userId: 'ada'});
  try {
    for await (const event of runner.runAsync({userId: 'ada', sessionId: session.id, newMessage: says('Hello?')})) read(event);
  } catch (error) {
    note('caught', (error as Error).name);
  }
};
