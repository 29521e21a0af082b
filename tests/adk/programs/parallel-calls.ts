import {z} from 'zod';
import {call, says, type Program} from '../stage.ts';

/** Several tools, called together; each writes to the state. */
export const program: Program = async ({FunctionTool, InMemoryRunner, LlmAgent}, {model, note, read}) => {
  const rollDie = new FunctionTool({
    name: 'roll_die',
    description: 'Rolls a die and returns what it shows.',
    parameters: z.object({sides: z.number().int()}),
    execute: ({sides}, context) => {
      context?.state.set(`die_${sides}`, sides - 1);
      return sides - 1;
    },
  });
  const checkPrime = new FunctionTool({
    name: 'check_prime',
    description: 'Says which numbers are prime.',
    parameters: z.object({numbers: z.array(z.number().int())}),
    execute: ({numbers}, context) => {
      context?.state.set('user:checked', numbers);
      context?.state.set('temp:checks', 1);
      return numbers.filter((number) => [2, 3, 5, 7, 11].includes(number));
    },
  });
  const rootAgent = new LlmAgent({
    name: 'dice_agent',
    model: model('dice', [
      [call('roll_die', {sides: 6}), call('check_prime', {numbers: [4, 5]}), call('roll_die', {sides: 8})],
      '5 and 7, and 5 is prime.',
    ]),
    tools: [rollDie, checkPrime],
  });
  const runner = new InMemoryRunner({agent: rootAgent, appName: 'dice'});
  const session = await runner.sessionService.createSession({appName: 'dice', userId: 'ada', state: {rolls: 0}});
  for await (const event of runner.runAsync({userId: 'ada', sessionId: session.id, newMessage: says('Roll and check.')})) read(event);
  note('state', (await runner.sessionService.getSession({appName: 'dice', userId: 'ada', sessionId: session.id}))?.state);
};
