import {FunctionTool, LlmAgent, type BaseLlm, type Context} from 'sluice';
import type {ToolRequest} from 'sluice/testing';
import {z} from 'zod';

/** A call of a tool, as its body sees it. */
export interface SeenCall {
  readonly name: string;
  readonly signal: AbortSignal;
  /** When its signal fired, on the scale of `performance.now()`; `undefined` where it did not. */
  firedAt: number | undefined;
}

export interface ConciergeOptions {
  readonly model: BaseLlm;
  readonly serviceUrl: string;
  /** Gets every call as its body starts. */
  readonly calls: SeenCall[];
}

/** The agent of the demo: three tools, each an HTTP call that ends when its `abortSignal` fires. */
export function concierge({model, serviceUrl, calls}: ConciergeOptions): LlmAgent {
  const ask = async (name: string, query: Record<string, string>, {abortSignal}: Context): Promise<void> => {
    const call: SeenCall = {name, signal: abortSignal, firedAt: undefined};
    calls.push(call);
    abortSignal.addEventListener('abort', () => (call.firedAt = performance.now()), {once: true});
    const response = await fetch(`${serviceUrl}/${name}?${new URLSearchParams(query)}`, {signal: abortSignal});
    await response.json();
  };

  const findTable = new FunctionTool({
    name: 'find_table',
    description: 'Finds a free table in a restaurant.',
    parameters: z.object({restaurant: z.string(), time: z.string()}),
    execute: async ({restaurant, time}, context) => {
      await ask('find_table', {restaurant, time}, context);
      return {restaurant, table: 7, time};
    },
  });
  const orderTaxi = new FunctionTool({
    name: 'order_taxi',
    description: 'Orders a taxi to the hotel.',
    parameters: z.object({destination: z.string(), time: z.string()}),
    execute: async ({destination, time}, context) => {
      await ask('order_taxi', {destination, time}, context);
      return {destination, time, car: 'K 12'};
    },
  });
  const getWeather = new FunctionTool({
    name: 'get_weather',
    description: 'The weather of an evening in this city.',
    parameters: z.object({time: z.string()}),
    execute: async ({time}, context) => {
      await ask('get_weather', {time}, context);
      return {time, sky: 'clear', celsius: 18};
    },
  });

  return new LlmAgent({
    name: 'concierge',
    model,
    instruction: 'You are the concierge of a hotel. Look up everything that was asked for at once, then answer in a sentence or two.',
    tools: [findTable, orderTaxi, getWeather],
  });
}

/** How long an answer of the service takes, in milliseconds. A taxi is slow: it is what can be taken back. */
export function delayOf(request: ToolRequest): number {
  return {find_table: 420, get_weather: 380, order_taxi: 1_200}[toolOf(request)] ?? 0;
}

/** Which tool has sent a request. */
export function toolOf({path}: ToolRequest): string {
  return path.slice(1);
}
