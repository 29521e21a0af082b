import type {Event, InvocationContext} from 'sluice';
import {says, type Program} from '../stage.ts';

/** An agent of one's own that decides which of two others answers, and speaks itself. */
export const program: Program = async ({BaseAgent, InMemoryRunner, LlmAgent, createEvent, createEventActions}, {model, note, read}) => {
  const short = new LlmAgent({name: 'short', model: model('short', ['Yes.']), instruction: 'Answer in a word.'});
  const long = new LlmAgent({name: 'long', model: model('long', ['Well, that depends.']), instruction: 'Answer at length.'});
  class Chooser extends BaseAgent {
    protected override async *runAsyncImpl(context: InvocationContext): AsyncGenerator<Event, void, undefined> {
      const asked = context.userContent?.parts?.[0]?.text ?? '';
      const chosen = asked.length > 20 ? long : short;
      yield createEvent({
        author: this.name,
        invocationId: context.invocationId,
        content: {role: 'model', parts: [{text: `${chosen.name} will answer.`}]},
        actions: createEventActions({stateDelta: {chosen: chosen.name}}),
      });
      yield* chosen.runAsync(context);
    }
    protected override async *runLiveImpl(): AsyncGenerator<Event, void, undefined> {}
  }
  const chooser = new Chooser({name: 'chooser', description: 'Chooses.', subAgents: [short, long]});
  const runner = new InMemoryRunner({agent: chooser, appName: 'choice'});
  const session = await runner.sessionService.createSession({appName: 'choice', userId: 'ada'});
  for (const text of ['Is it?', 'And is it so in every case?']) {
    for await (const event of runner.runAsync({userId: 'ada', sessionId: session.id, newMessage: says(text)})) read(event);
  }
  note('state', (await runner.sessionService.getSession({appName: 'choice', userId: 'ada', sessionId: session.id}))?.state);
};
