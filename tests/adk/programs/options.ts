import {says, type Program} from '../stage.ts';

/** What is wrong in the options, and a session that is not there. */
export const program: Program = async ({InMemoryRunner, LlmAgent, SequentialAgent}, {model, note, read}) => {
  const attempt = async (name: string, work: () => unknown): Promise<void> => {
    try {
      await work();
      note(name, 'accepted');
    } catch {
      note(name, 'refused');
    }
  };
  const agent = new LlmAgent({name: 'clerk', model: model('clerk', ['Hello.']), instruction: 'Answer.'});
  const misspelt = {name: 'clerk', model: model('other', []), instructions: 'Answer.'};
  await attempt('a misspelt option', () => new LlmAgent(misspelt));
  await attempt('a name that is no identifier', () => new LlmAgent({name: 'my clerk', model: model('other', [])}));
  await attempt('the name user', () => new LlmAgent({name: 'user', model: model('other', [])}));
  await attempt('an agent under two parents', () => {
    const child = new LlmAgent({name: 'child', model: model('other', [])});
    return [1, 2].map((count) => new SequentialAgent({name: `parent${count}`, subAgents: [child]}));
  });
  await attempt('two agents of one name', () => {
    const twins = [1, 2].map(() => new LlmAgent({name: 'twin', model: model('other', [])}));
    return new SequentialAgent({name: 'parent', subAgents: twins});
  });
  const runner = new InMemoryRunner({agent, appName: 'office'});
  await attempt('a session that is not there', async () => {
    for await (const event of runner.runAsync({userId: 'ada', sessionId: 'none', newMessage: says('Hello?')})) read(event);
  });
  await attempt('a session id that is taken', async () => {
    for (const _ of [1, 2]) await runner.sessionService.createSession({appName: 'office', userId: 'ada', sessionId: 'same'});
  });
};
