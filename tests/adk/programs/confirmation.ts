import {z} from 'zod';
import {call, says, type Program} from '../stage.ts';

/** A tool that asks before it runs: confirmed once, refused once, and a small amount that needs no word. */
export const program: Program = async ({FunctionTool, InMemoryRunner, LlmAgent, getFunctionCalls}, {model, note, read}) => {
  const paid: number[] = [];
  const pay = new FunctionTool({
    name: 'pay',
    description: 'Pays an amount.',
    parameters: z.object({amount: z.number()}),
    requireConfirmation: ({amount}) => amount > 100,
    execute: ({amount}) => {
      paid.push(amount);
      return {status: 'paid', amount};
    },
  });
  const rootAgent = new LlmAgent({
    name: 'payer',
    model: model('payer', [
      [call('pay', {amount: 10})],
      'Paid 10.',
      [call('pay', {amount: 500})],
      'Paid 500.',
      [call('pay', {amount: 900})],
      'I did not pay.',
    ]),
    tools: [pay],
  });
  const runner = new InMemoryRunner({agent: rootAgent, appName: 'payments'});
  const session = await runner.sessionService.createSession({appName: 'payments', userId: 'ada'});
  const turns = [
    {text: 'Pay 10.', confirmed: true},
    {text: 'Pay 500.', confirmed: true},
    {text: 'Pay 900.', confirmed: false},
  ];
  for (const {text, confirmed} of turns) {
    let asks: string | undefined;
    for await (const event of runner.runAsync({userId: 'ada', sessionId: session.id, newMessage: says(text)})) {
      read(event);
      asks ??= getFunctionCalls(event).find(({name}) => name === 'adk_request_confirmation')?.id;
    }
    if (asks === undefined) continue;
    const answer = {id: asks, name: 'adk_request_confirmation', response: {confirmed}};
    const newMessage = {role: 'user', parts: [{functionResponse: answer}]};
    for await (const event of runner.runAsync({userId: 'ada', sessionId: session.id, newMessage})) read(event);
  }
  note('paid', paid);
};
