import {z} from 'zod';
import {call, says, type Program} from '../stage.ts';

/** A tool with a zod schema, that answers, then throws, then gets arguments that do not fit. */
export const program: Program = async ({FunctionTool, InMemoryRunner, LlmAgent}, {model, note, read}) => {
  const asked: unknown[] = [];
  const getWeather = new FunctionTool({
    name: 'get_weather',
    description: 'Returns the weather of a city.',
    parameters: z.object({city: z.string().describe('The name of the city.'), unit: z.enum(['C', 'F']).optional()}),
    execute: async ({city, unit}, context) => {
      asked.push({city, unit, agent: context?.agentName});
      if (city === 'Atlantis') throw new Error('No such city.');
      return {city, sky: 'clear', degrees: 21};
    },
  });
  const getTime = new FunctionTool({name: 'get_time', description: 'Returns the time.', execute: () => '12:00'});
  const rootAgent = new LlmAgent({
    name: 'weather_agent',
    model: model('weather', [
      [{text: 'I will look.'}, call('get_weather', {city: 'Paris', unit: 'C'})],
      [call('get_weather', {city: 'Atlantis'})],
      [call('get_weather', {town: 'Paris'})],
      [call('get_time')],
      'It is clear in Paris, at noon.',
    ]),
    instruction: 'Answer questions about the weather with your tools.',
    tools: [getWeather, getTime],
  });
  const runner = new InMemoryRunner({agent: rootAgent, appName: 'weather'});
  const session = await runner.sessionService.createSession({appName: 'weather', userId: 'ada'});
  for await (const event of runner.runAsync({userId: 'ada', sessionId: session.id, newMessage: says('Weather in Paris?')})) read(event);
  note('asked', asked);
};
