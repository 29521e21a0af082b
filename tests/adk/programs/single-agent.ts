import {says, type Program} from '../stage.ts';

/** One agent, two turns of one session. */
export const program: Program = async ({InMemoryRunner, LlmAgent, isFinalResponse, stringifyContent}, {model, note, read}) => {
  const rootAgent = new LlmAgent({
    name: 'greeter',
    model: model('greeter', ['Hello, Ada.', 'You are Ada.']),
    description: 'Greets people.',
    instruction: 'You greet people by their name.',
    generateContentConfig: {temperature: 0.2, maxOutputTokens: 200},
  });
  const runner = new InMemoryRunner({agent: rootAgent, appName: 'greetings'});
  const session = await runner.sessionService.createSession({appName: 'greetings', userId: 'ada'});
  const answers: string[] = [];
  for (const text of ['I am Ada.', 'Who am I?']) {
    for await (const event of runner.runAsync({userId: 'ada', sessionId: session.id, newMessage: says(text)})) {
      read(event);
      if (isFinalResponse(event)) answers.push(stringifyContent(event));
    }
  }
  const stored = await runner.sessionService.getSession({appName: 'greetings', userId: 'ada', sessionId: session.id});
  note('answers', answers);
  note(
    'stored',
    stored?.events.map(({author, content}) => ({author, content})),
  );
};
