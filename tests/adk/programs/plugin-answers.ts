import type {Content} from '@google/genai';
import type {Context, InvocationContext, LlmResponse} from 'sluice';
import {says, type Program} from '../stage.ts';

/** A plugin that changes what the user says, and answers for a model that fails. */
export const program: Program = async ({BasePlugin, InMemoryRunner, LlmAgent}, {model, read}) => {
  class Polite extends BasePlugin {
    override async onUserMessageCallback({userMessage}: {invocationContext: InvocationContext; userMessage: Content}): Promise<Content> {
      return says(`${userMessage.parts?.[0]?.text} Please.`);
    }
    override async onModelErrorCallback(_: {callbackContext: Context}): Promise<LlmResponse> {
      return {content: {role: 'model', parts: [{text: 'Ask me later.'}]}};
    }
  }
  const agent = new LlmAgent({name: 'clerk', model: model('clerk', []), instruction: 'Answer.'});
  const runner = new InMemoryRunner({agent, appName: 'office', plugins: [new Polite('polite')]});
  const session = await runner.sessionService.createSession({appName: 'office', userId: 'ada'});
  for await (const event of runner.runAsync({userId: 'ada', sessionId: session.id, newMessage: says('Are you open?')})) read(event);
};
