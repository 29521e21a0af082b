import {call, says, type Program} from '../stage.ts';

/** A loop that a tool ends by escalating, and one that reaches its bound. */
export const program: Program = async ({EXIT_LOOP, FunctionTool, InMemoryRunner, LlmAgent, LoopAgent, SequentialAgent}, {model, read}) => {
  const stop = new FunctionTool({
    name: 'stop',
    description: 'Ends the loop.',
    execute: (_, context) => {
      if (context) context.actions.escalate = true;
      return {};
    },
  });
  const critic = new LlmAgent({name: 'critic', model: model('critic', ['Too long.', 'Fine.']), instruction: 'Criticise the text.'});
  const editor = new LlmAgent({
    name: 'editor',
    model: model('editor', ['Shorter.', [call('stop')], 'Done.']),
    instruction: 'Edit the text, or stop.',
    tools: [stop],
  });
  const refine = new LoopAgent({name: 'refine', subAgents: [critic, editor], maxIterations: 5});
  const counter = new LlmAgent({name: 'counter', model: model('counter', ['One.', 'Two.', 'Three.']), instruction: 'Count.'});
  const count = new LoopAgent({name: 'count', subAgents: [counter], maxIterations: 2});
  const leaver = new LlmAgent({
    name: 'leaver',
    model: model('leaver', [[call('exit_loop')], 'I left.']),
    instruction: 'Leave at once.',
    tools: [EXIT_LOOP],
  });
  const leave = new LoopAgent({name: 'leave', subAgents: [leaver], maxIterations: 3});
  const runner = new InMemoryRunner({agent: new SequentialAgent({name: 'all', subAgents: [refine, count, leave]}), appName: 'loops'});
  const session = await runner.sessionService.createSession({appName: 'loops', userId: 'ada'});
  for await (const event of runner.runAsync({userId: 'ada', sessionId: session.id, newMessage: says('Edit this.')})) read(event);
};
