import {call, says, type Program} from '../stage.ts';

/** A tool that does not say whether it is to be confirmed: its function has no `return`. */
export const program: Program = async ({FunctionTool, InMemoryRunner, LlmAgent}, {model, note, read}) => {
  let paid = 0;
  const isLarge = (): void => {};
  const pay = new FunctionTool({
    name: 'pay',
    description: 'Pays.',
    requireConfirmation: isLarge as unknown as () => boolean,
    execute: () => {
      paid++;
      return {status: 'paid'};
    },
  });
  const rootAgent = new LlmAgent({name: 'payer', model: model('payer', [[call('pay')], 'Paid.']), tools: [pay]});
  const runner = new InMemoryRunner({agent: rootAgent, appName: 'payments'});
  const session = await runner.sessionService.createSession({appName: 'payments', userId: 'ada'});
  for await (const event of runner.runAsync({userId: 'ada', sessionId: session.id, newMessage: says('Pay.')})) read(event);
  note('paid', paid);
};
