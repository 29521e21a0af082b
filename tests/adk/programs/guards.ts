import {says, type Program} from '../stage.ts';

/** What things are, asked through ADK's guards, and `Agent`, its other name for `LlmAgent`. */
export const program: Program = async (names, {model, note, read}) => {
  const {Agent, AgentTool, FunctionTool, InMemoryRunner, LoopAgent, ParallelAgent, SequentialAgent} = names;
  const {isAgentTool, isBaseAgent, isBaseLlm, isBaseTool, isBaseToolset, isFunctionTool, isLlmAgent, isRunner} = names;
  const {isLoopAgent, isParallelAgent, isSequentialAgent} = names;
  const agent = new Agent({name: 'clerk', model: model('clerk', ['Hello.']), instruction: 'Answer.'});
  const runner = new InMemoryRunner({agent, appName: 'office'});
  const things = {
    agent,
    runner,
    model: agent.canonicalModel,
    loop: new LoopAgent({name: 'loop', subAgents: []}),
    parallel: new ParallelAgent({name: 'parallel', subAgents: []}),
    sequence: new SequentialAgent({name: 'sequence', subAgents: []}),
    agentTool: new AgentTool({agent}),
    functionTool: new FunctionTool({name: 'look', description: 'Looks.', execute: () => ({})}),
    nothing: undefined,
  };
  const guards = {isAgentTool, isBaseAgent, isBaseLlm, isBaseTool, isBaseToolset, isFunctionTool, isLlmAgent, isRunner};
  const all = {...guards, isLoopAgent, isParallelAgent, isSequentialAgent};
  for (const [name, thing] of Object.entries(things)) {
    note(
      name,
      Object.entries(all).flatMap(([guard, is]) => (is(thing) ? [guard] : [])),
    );
  }
  for await (const event of runner.runEphemeral({userId: 'ada', newMessage: says('Hello?')})) read(event);
};
