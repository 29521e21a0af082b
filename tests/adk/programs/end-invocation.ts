import type {Event, InvocationContext} from 'sluice';
import {says, type Program} from '../stage.ts';

/** An agent of one's own that says on its context that the invocation is to end. */
export const program: Program = async ({BaseAgent, InMemoryRunner, createEvent}, {note, read}) => {
  class Gate extends BaseAgent {
    protected override async *runAsyncImpl(context: InvocationContext): AsyncGenerator<Event, void, undefined> {
      Object.assign(context, {endInvocation: true});
      const content = {role: 'model', parts: [{text: 'We are closed.'}]};
      yield createEvent({author: this.name, invocationId: context.invocationId, content});
    }
    protected override async *runLiveImpl(): AsyncGenerator<Event, void, undefined> {}
  }
  const afterAgentCallback = (): undefined => {
    note('after', 'called');
  };
  const runner = new InMemoryRunner({agent: new Gate({name: 'gate', afterAgentCallback}), appName: 'office'});
  const session = await runner.sessionService.createSession({appName: 'office', userId: 'ada'});
  for await (const event of runner.runAsync({userId: 'ada', sessionId: session.id, newMessage: says('Hello?')})) read(event);
};
