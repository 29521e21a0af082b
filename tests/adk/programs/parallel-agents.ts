import {says, type Program} from '../stage.ts';

/** Two researchers at the same time, then one who reads what both found. */
export const program: Program = async ({InMemoryRunner, LlmAgent, ParallelAgent, SequentialAgent}, {model, note, read}) => {
  const researcher = (name: string, finding: string): InstanceType<typeof LlmAgent> =>
    new LlmAgent({name, model: model(name, [finding]), instruction: `Find out about ${name}.`, outputKey: `${name}_finding`});
  const gather = new ParallelAgent({name: 'gather', subAgents: [researcher('wind', 'It blows.'), researcher('water', 'It flows.')]});
  const merger = new LlmAgent({
    name: 'merger',
    model: model('merger', ['It blows and it flows.']),
    instruction: 'Merge "{wind_finding}" and "{water_finding}".',
  });
  const runner = new InMemoryRunner({agent: new SequentialAgent({name: 'research', subAgents: [gather, merger]}), appName: 'research'});
  const session = await runner.sessionService.createSession({appName: 'research', userId: 'ada'});
  for await (const event of runner.runAsync({userId: 'ada', sessionId: session.id, newMessage: says('Energy?')})) read(event);
  note('state', (await runner.sessionService.getSession({appName: 'research', userId: 'ada', sessionId: session.id}))?.state);
};
