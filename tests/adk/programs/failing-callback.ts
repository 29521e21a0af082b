import {says, type Program} from '../stage.ts';

/** A callback that throws. */
export const program: Program = async ({InMemoryRunner, LlmAgent}, {model, note, read}) => {
  const rootAgent = new LlmAgent({
    name: 'faulty',
    model: model('faulty', ['Hello.']),
    instruction: 'Answer.',
    beforeModelCallback: () => {
      throw new Error('No quota is left.');
    },
  });
  const runner = new InMemoryRunner({agent: rootAgent, appName: 'faults'});
  const session = await runner.sessionService.createSession({appName: 'faults', userId: 'ada'});
  try {
    for await (const event of runner.runAsync({userId: 'ada', sessionId: session.id, newMessage: says('Hello?')})) read(event);
  } catch (error) {
    note('caught', (error as Error).name);
  }
};
