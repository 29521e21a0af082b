import {z} from 'zod';
import {call, says, type Program} from '../stage.ts';

/** A call whose result comes later: the run ends, and another one brings the answer. */
export const program: Program = async ({InMemoryRunner, LlmAgent, LongRunningFunctionTool, getFunctionCalls}, {model, read}) => {
  const askForApproval = new LongRunningFunctionTool({
    name: 'ask_for_approval',
    description: 'Asks a manager to approve an expense.',
    parameters: z.object({amount: z.number()}),
    execute: ({amount}) => ({status: 'pending', amount, ticket: 'T-1'}),
  });
  const rootAgent = new LlmAgent({
    name: 'expenses',
    model: model('expenses', [[call('ask_for_approval', {amount: 200})], 'I asked the manager.', 'It is approved.']),
    instruction: 'Handle expenses.',
    tools: [askForApproval],
  });
  const runner = new InMemoryRunner({agent: rootAgent, appName: 'expenses'});
  const session = await runner.sessionService.createSession({appName: 'expenses', userId: 'ada'});
  let id: string | undefined;
  for await (const event of runner.runAsync({userId: 'ada', sessionId: session.id, newMessage: says('200 for a chair.')})) {
    read(event);
    id ??= getFunctionCalls(event).find((one) => event.longRunningToolIds?.includes(one.id ?? ''))?.id;
  }
  const response = {id, name: 'ask_for_approval', response: {status: 'approved', ticket: 'T-1'}};
  const newMessage = {role: 'user', parts: [{functionResponse: response as {id: string; name: string}}]};
  for await (const event of runner.runAsync({userId: 'ada', sessionId: session.id, newMessage})) read(event);
};
