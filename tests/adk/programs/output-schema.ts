import {z} from 'zod';
import {says, type Program} from '../stage.ts';

/** An answer in a form, kept in the state. */
export const program: Program = async ({InMemoryRunner, LlmAgent}, {model, note, read}) => {
  const rootAgent = new LlmAgent({
    name: 'capitals',
    model: model('capitals', ['{"capital": "Paris", "people": 2100000}']),
    instruction: 'Tell the capital of a country.',
    outputSchema: z.object({capital: z.string(), people: z.number()}),
    outputKey: 'answer',
  });
  const runner = new InMemoryRunner({agent: rootAgent, appName: 'capitals'});
  const session = await runner.sessionService.createSession({appName: 'capitals', userId: 'ada'});
  for await (const event of runner.runAsync({userId: 'ada', sessionId: session.id, newMessage: says('France?')})) read(event);
  note('state', (await runner.sessionService.getSession({appName: 'capitals', userId: 'ada', sessionId: session.id}))?.state);
};
