import {says, type Program} from '../stage.ts';

/** A writer, a reviewer and a reviser, each reading what the one before left in the state. */
export const program: Program = async ({InMemoryRunner, LlmAgent, SequentialAgent}, {model, note, read}) => {
  const writer = new LlmAgent({
    name: 'writer',
    model: model('writer', ['let x = 1']),
    instruction: 'Write the code that is asked for.',
    outputKey: 'code',
  });
  const reviewer = new LlmAgent({
    name: 'reviewer',
    model: model('reviewer', ['Use const.']),
    instruction: 'Review this code:\n{code}',
    outputKey: 'review',
  });
  const reviser = new LlmAgent({
    name: 'reviser',
    model: model('reviser', ['const x = 1']),
    instruction: 'Apply "{review}" to this code:\n{code}',
    includeContents: 'none',
    outputKey: 'code',
  });
  const rootAgent = new SequentialAgent({name: 'pipeline', subAgents: [writer, reviewer, reviser], description: 'Writes code.'});
  const runner = new InMemoryRunner({agent: rootAgent, appName: 'code'});
  const session = await runner.sessionService.createSession({appName: 'code', userId: 'ada'});
  for await (const event of runner.runAsync({userId: 'ada', sessionId: session.id, newMessage: says('A variable, please.')})) read(event);
  note('state', (await runner.sessionService.getSession({appName: 'code', userId: 'ada', sessionId: session.id}))?.state);
};
