import {z} from 'zod';
import {call, says, type Program} from '../stage.ts';

/** Agents as tools: one asked in words, one with an input schema; what they write to the state comes back. */
export const program: Program = async ({AgentTool, InMemoryRunner, LlmAgent}, {model, note, read}) => {
  const translator = new LlmAgent({
    name: 'translator',
    description: 'Translates into French.',
    model: model('translator', ['Bonjour.']),
    instruction: 'Translate for {customer}.',
    outputKey: 'translation',
  });
  const calculator = new LlmAgent({
    name: 'calculator',
    description: 'Computes.',
    model: model('calculator', ['42']),
    inputSchema: z.object({formula: z.string()}),
  });
  const rootAgent = new LlmAgent({
    name: 'clerk',
    model: model('clerk', [[call('translator', {request: 'Hello.'})], [call('calculator', {formula: '6*7'})], 'Bonjour, 42.']),
    instruction: 'Use your tools.',
    tools: [new AgentTool({agent: translator}), new AgentTool({agent: calculator})],
  });
  const runner = new InMemoryRunner({agent: rootAgent, appName: 'office'});
  const session = await runner.sessionService.createSession({appName: 'office', userId: 'ada', state: {customer: 'Ada'}});
  for await (const event of runner.runAsync({userId: 'ada', sessionId: session.id, newMessage: says('Hello and 6*7.')})) read(event);
  note('state', (await runner.sessionService.getSession({appName: 'office', userId: 'ada', sessionId: session.id}))?.state);
};
