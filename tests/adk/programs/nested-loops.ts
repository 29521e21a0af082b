import {call, says, type Program} from '../stage.ts';

/** A loop in a loop: the tool of the inner one escalates. */
export const program: Program = async ({EXIT_LOOP, InMemoryRunner, LlmAgent, LoopAgent}, {model, read}) => {
  const polisher = new LlmAgent({
    name: 'polisher',
    model: model('polisher', [[call('exit_loop')], [call('exit_loop')]]),
    instruction: 'Polish a chapter, then leave.',
    tools: [EXIT_LOOP],
  });
  const chapter = new LoopAgent({name: 'chapter', subAgents: [polisher], maxIterations: 4});
  const printer = new LlmAgent({name: 'printer', model: model('printer', ['Printed.', 'Printed.']), instruction: 'Print.'});
  const book = new LoopAgent({name: 'book', subAgents: [chapter, printer], maxIterations: 2});
  const runner = new InMemoryRunner({agent: book, appName: 'books'});
  const session = await runner.sessionService.createSession({appName: 'books', userId: 'ada'});
  for await (const event of runner.runAsync({userId: 'ada', sessionId: session.id, newMessage: says('Two chapters.')})) read(event);
};
