import {z} from 'zod';
import {call, says, type Program} from '../stage.ts';

/** Every callback of an agent: some look, some change, some answer instead. */
export const program: Program = async ({FunctionTool, InMemoryRunner, LlmAgent}, {model, note, read}) => {
  const seen: string[] = [];
  const add = new FunctionTool({
    name: 'add',
    description: 'Adds two numbers.',
    parameters: z.object({a: z.number(), b: z.number()}),
    execute: ({a, b}) => ({sum: a + b}),
  });
  const rootAgent = new LlmAgent({
    name: 'adder',
    model: model('adder', [[call('add', {a: 1, b: 2})], [call('add', {a: 13, b: 1})], 'The sums are 4 and bad luck.']),
    tools: [add],
    beforeAgentCallback: (context) => {
      seen.push(`beforeAgent ${context.agentName}`);
      context.state.set('started', true);
      return undefined;
    },
    afterAgentCallback: (context) => {
      seen.push(`afterAgent started=${context.state.get<boolean>('started')}`);
      return {role: 'model', parts: [{text: 'That was all.'}]};
    },
    beforeModelCallback: [
      ({request}) => {
        seen.push(`beforeModel ${request.contents.length}`);
        const said = request.contents.at(-1)?.parts?.[0]?.text ?? '';
        return said.includes('secret') ? {content: {role: 'model', parts: [{text: 'I cannot talk about that.'}]}} : undefined;
      },
      ({context}) => {
        seen.push('beforeModel, second');
        context.state.set('model_calls', (context.state.get<number>('model_calls') ?? 0) + 1);
        return undefined;
      },
    ],
    afterModelCallback: ({response}) => {
      const text = response.content?.parts?.[0]?.text;
      seen.push(`afterModel ${text === undefined ? 'call' : text}`);
      return text?.includes('bad luck') ? {...response, content: {role: 'model', parts: [{text: 'The sums are 4 and 14.'}]}} : undefined;
    },
    beforeToolCallback: ({tool, args, context}) => {
      seen.push(`beforeTool ${tool.name} ${JSON.stringify(args)} ${context.agentName}`);
      return args['a'] === 13 ? {sum: 'bad luck'} : undefined;
    },
    afterToolCallback: ({tool, args, response}) => {
      seen.push(`afterTool ${tool.name} ${JSON.stringify(args)} ${JSON.stringify(response)}`);
      return response['sum'] === 3 ? {sum: 4} : undefined;
    },
  });
  const runner = new InMemoryRunner({agent: rootAgent, appName: 'sums'});
  const session = await runner.sessionService.createSession({appName: 'sums', userId: 'ada'});
  for (const text of ['Add some numbers.', 'Tell me a secret.']) {
    for await (const event of runner.runAsync({userId: 'ada', sessionId: session.id, newMessage: says(text)})) read(event);
  }
  note('seen', seen);
  note('state', (await runner.sessionService.getSession({appName: 'sums', userId: 'ada', sessionId: session.id}))?.state);
};
