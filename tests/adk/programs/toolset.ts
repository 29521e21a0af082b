import type {BaseTool} from 'sluice';
import {call, says, type Program} from '../stage.ts';

/** A toolset: its filter, and when it is asked and closed in two runs. */
export const program: Program = async ({BaseToolset, FunctionTool, InMemoryRunner, LlmAgent}, {model, note, read}) => {
  const happened: string[] = [];
  class Clocks extends BaseToolset {
    override async getTools(): Promise<BaseTool[]> {
      const names = ['get_time', 'get_date'];
      const tools = names.map((name) => new FunctionTool({name, description: `Does ${name}.`, execute: () => ({name})}));
      return tools.filter((tool) => (this.toolFilter as string[]).includes(tool.name));
    }
    override async close(): Promise<void> {
      happened.push('closed');
    }
  }
  const rootAgent = new LlmAgent({
    name: 'clock',
    model: model('clock', [[call('get_time')], 'Noon.', 'Still noon.']),
    instruction: 'Tell the time.',
    tools: [new Clocks(['get_time'])],
  });
  const runner = new InMemoryRunner({agent: rootAgent, appName: 'clock'});
  const session = await runner.sessionService.createSession({appName: 'clock', userId: 'ada'});
  for (const text of ['What time is it?', 'And now?']) {
    for await (const event of runner.runAsync({userId: 'ada', sessionId: session.id, newMessage: says(text)})) read(event);
    happened.push('run is over');
  }
  note('happened', happened);
};
