import {z} from 'zod';
import {call, says, type Program} from '../stage.ts';

/** The same with a tool: the model answers by calling `set_model_response`. */
export const program: Program = async ({FunctionTool, InMemoryRunner, LlmAgent}, {model, note, read}) => {
  const getPeople = new FunctionTool({
    name: 'get_people',
    description: 'How many people live in a city.',
    parameters: z.object({city: z.string()}),
    execute: () => ({people: 2_100_000}),
  });
  const rootAgent = new LlmAgent({
    name: 'capitals',
    model: model('capitals', [[call('get_people', {city: 'Paris'})], [call('set_model_response', {capital: 'Paris', people: 2_100_000})]]),
    instruction: 'Tell the capital of a country.',
    tools: [getPeople],
    outputSchema: z.object({capital: z.string(), people: z.number()}),
    outputKey: 'answer',
  });
  const runner = new InMemoryRunner({agent: rootAgent, appName: 'capitals'});
  const session = await runner.sessionService.createSession({appName: 'capitals', userId: 'ada'});
  for await (const event of runner.runAsync({userId: 'ada', sessionId: session.id, newMessage: says('France?')})) read(event);
  note('state', (await runner.sessionService.getSession({appName: 'capitals', userId: 'ada', sessionId: session.id}))?.state);
};
