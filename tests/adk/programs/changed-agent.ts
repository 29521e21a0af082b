import {says, type Program} from '../stage.ts';

/** Tools and agents that are added to an agent that is made. */
export const program: Program = async ({FunctionTool, InMemoryRunner, LlmAgent}, {model, note, read}) => {
  const attempt = (name: string, work: () => unknown): void => {
    try {
      work();
      note(name, 'accepted');
    } catch {
      note(name, 'refused');
    }
  };
  const rootAgent = new LlmAgent({name: 'clerk', model: model('clerk', ['Hello.']), instruction: 'Answer.'});
  const getTime = new FunctionTool({name: 'get_time', description: 'Returns the time.', execute: () => '12:00'});
  const cook = new LlmAgent({name: 'cook', model: model('cook', []), instruction: 'Cook.'});
  attempt('a tool', () => (rootAgent.tools as unknown[]).push(getTime));
  const runner = new InMemoryRunner({agent: rootAgent, appName: 'office'});
  const session = await runner.sessionService.createSession({appName: 'office', userId: 'ada'});
  for await (const event of runner.runAsync({userId: 'ada', sessionId: session.id, newMessage: says('Hello?')})) read(event);
  attempt('an agent', () => (rootAgent.subAgents as unknown[]).push(cook));
};
