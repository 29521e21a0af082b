import {FinishReason} from '@google/genai';
import {says, type Program} from '../stage.ts';

/** The first agent of a sequence gets a blocked reply. */
export const program: Program = async ({InMemoryRunner, LlmAgent, SequentialAgent}, {model, read}) => {
  const blocked = {finishReason: FinishReason.SAFETY, errorCode: 'SAFETY', errorMessage: 'Blocked.', content: {role: 'model', parts: []}};
  const writer = new LlmAgent({name: 'writer', model: model('writer', [[blocked]]), instruction: 'Write.', outputKey: 'text'});
  const printer = new LlmAgent({name: 'printer', model: model('printer', ['Printed.']), instruction: 'Print: {text?}'});
  const runner = new InMemoryRunner({agent: new SequentialAgent({name: 'press', subAgents: [writer, printer]}), appName: 'press'});
  const session = await runner.sessionService.createSession({appName: 'press', userId: 'ada'});
  for await (const event of runner.runAsync({userId: 'ada', sessionId: session.id, newMessage: says('A headline.')})) read(event);
};
