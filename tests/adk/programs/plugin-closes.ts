import type {Content} from '@google/genai';
import {says, type Program} from '../stage.ts';

/** A plugin that speaks instead of the agent. */
export const program: Program = async ({BasePlugin, InMemoryRunner, LlmAgent}, {model, read}) => {
  class Closed extends BasePlugin {
    override async beforeRunCallback(): Promise<Content> {
      return {role: 'model', parts: [{text: 'We are closed.'}]};
    }
  }
  const agent = new LlmAgent({name: 'clerk', model: model('clerk', []), instruction: 'Answer.'});
  const runner = new InMemoryRunner({agent, appName: 'office', plugins: [new Closed('closed')]});
  const session = await runner.sessionService.createSession({appName: 'office', userId: 'ada'});
  for await (const event of runner.runAsync({userId: 'ada', sessionId: session.id, newMessage: says('Are you open?')})) read(event);
};
