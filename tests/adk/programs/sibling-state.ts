import {z} from 'zod';
import {call, says, type Program} from '../stage.ts';

/** Three calls of one reply that count in the state. */
export const program: Program = async ({FunctionTool, InMemoryRunner, LlmAgent}, {model, note, read}) => {
  const buy = new FunctionTool({
    name: 'buy',
    description: 'Puts a thing into the basket.',
    parameters: z.object({thing: z.string()}),
    execute: ({thing}, context) => {
      const basket = [...(context?.state.get<string[]>('basket') ?? []), thing];
      context?.state.set('basket', basket);
      return {basket};
    },
  });
  const rootAgent = new LlmAgent({
    name: 'shopper',
    model: model('shopper', [[call('buy', {thing: 'tea'}), call('buy', {thing: 'milk'})], 'Bought.']),
    instruction: 'Shop.',
    tools: [buy],
  });
  const runner = new InMemoryRunner({agent: rootAgent, appName: 'shop'});
  const session = await runner.sessionService.createSession({appName: 'shop', userId: 'ada'});
  for await (const event of runner.runAsync({userId: 'ada', sessionId: session.id, newMessage: says('Tea and milk.')})) read(event);
  note('state', (await runner.sessionService.getSession({appName: 'shop', userId: 'ada', sessionId: session.id}))?.state);
};
