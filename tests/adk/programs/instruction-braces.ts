import {says, type Program} from '../stage.ts';

/** An instruction with values, a missing one, and braces that are none of its own. */
export const program: Program = async ({InMemoryRunner, LlmAgent}, {model, read}) => {
  const rootAgent = new LlmAgent({
    name: 'greeter',
    model: model('greeter', ['Hello, Ada.']),
    instruction: [
      'Greet { name }{title?}. Answer in JSON: {"text": "..."}.',
      'Write letters with {{name}} in the place of the name.',
      'Say to whom, as in {"to": {name}}.',
    ].join('\n\n'),
  });
  const runner = new InMemoryRunner({agent: rootAgent, appName: 'letters'});
  const session = await runner.sessionService.createSession({appName: 'letters', userId: 'ada', state: {name: 'Ada'}});
  for await (const event of runner.runAsync({userId: 'ada', sessionId: session.id, newMessage: says('Hello.')})) read(event);
};
