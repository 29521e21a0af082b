// An agent for the command line. With GEMINI_API_KEY it asks Gemini; without a key a stand-in answers.
//
//   npx sluice run examples/agents/weather.ts
//   npx sluice serve examples/agents
import {setTimeout as pause} from 'node:timers/promises';
import {FunctionTool, LlmAgent} from 'sluice';
import {z} from 'zod';
import {OfflineModel} from './models/offline.ts';

const getForecast = new FunctionTool({
  name: 'get_forecast',
  description: 'The forecast for a city, from several stations.',
  parameters: z.object({city: z.string()}),
  // What a generator yields is shown while it works; what it returns is the response.
  async *execute({city}, {abortSignal}) {
    for (const station of ['airport', 'harbour']) {
      await pause(300, undefined, {signal: abortSignal});
      yield {station, read: true};
    }
    return {city, sky: 'clear', degrees: 21};
  },
});

export const rootAgent: LlmAgent = new LlmAgent({
  name: 'weather',
  model: process.env['GEMINI_API_KEY'] ? 'gemini-2.5-flash' : new OfflineModel({name: 'get_forecast', args: {city: 'Paris'}}),
  instruction: 'Answer in a sentence. Ask get_forecast for the weather.',
  tools: [getForecast],
});
