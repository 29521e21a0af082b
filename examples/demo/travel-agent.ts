import {FunctionTool, LlmAgent, type BaseLlm} from 'sluice';
import type {ToolRequest} from 'sluice/testing';
import {z} from 'zod';

/** The agent of the demo: three tools, each an HTTP call that ends when its `abortSignal` fires. */
export function travelAgent(model: BaseLlm, serviceUrl: string): LlmAgent {
  const ask = async (path: string, query: Record<string, string>, abortSignal: AbortSignal): Promise<void> => {
    const response = await fetch(`${serviceUrl}/${path}?${new URLSearchParams(query)}`, {signal: abortSignal});
    await response.json();
  };

  const getWeather = new FunctionTool({
    name: 'get_weather',
    description: 'The current weather in a city.',
    parameters: z.object({city: z.string()}),
    execute: async ({city}, {abortSignal}) => {
      await ask('weather', {city}, abortSignal);
      return {city, sky: 'clear', celsius: 21};
    },
  });
  const searchHotels = new FunctionTool({
    name: 'search_hotels',
    description: 'Hotels in a city.',
    parameters: z.object({city: z.string()}),
    execute: async ({city}, {abortSignal}) => {
      await ask('hotels', {city}, abortSignal);
      return {city, hotels: ['Riverside', 'Old Town Inn']};
    },
  });
  const searchFlights = new FunctionTool({
    name: 'search_flights',
    description: 'Flights between two cities.',
    parameters: z.object({from: z.string(), to: z.string()}),
    execute: async ({from, to}, {abortSignal}) => {
      await ask('flights', {from, to}, abortSignal);
      return {from, to, departures: ['09:05', '13:40']};
    },
  });

  return new LlmAgent({
    name: 'travel',
    model,
    instruction: 'You plan trips. Look up everything that was asked for at once, then answer in a few plain sentences.',
    tools: [getWeather, searchHotels, searchFlights],
  });
}

/** What the service on this machine offers: who asks for it, and how long it takes. The calls finish in another order than they are made. */
export const services: Readonly<Record<string, {readonly tool: string; readonly delayMs: number}>> = {
  '/weather': {tool: 'get_weather', delayMs: 440},
  '/hotels': {tool: 'search_hotels', delayMs: 360},
  '/flights': {tool: 'search_flights', delayMs: 400},
};

/** The name under which a request's tool is known. */
export function toolOf({path}: ToolRequest): string {
  return services[path]?.tool ?? path;
}
