// The core in a Cloudflare Worker, and what a tool on worker threads comes to there.
import {FunctionTool, InMemoryRunner, LlmAgent, getFunctionResponses} from 'sluice';
import {coreLoop} from './core-loop.ts';
import {callsOf, pieces, Script} from './script.ts';

const worker = {
  async fetch(request: Request): Promise<Response> {
    const lines: string[] = [];
    if (new URL(request.url).pathname === '/core') await coreLoop((line) => void lines.push(line));
    else await threadTool((line) => void lines.push(line));
    return Response.json(lines);
  },
};

async function threadTool(print: (line: string) => void): Promise<void> {
  const tool = new FunctionTool({
    name: 'thread',
    description: 'Runs on a thread.',
    worker: {module: new URL('https://tools.example/thread.js'), export: 'run'},
  });
  const agent = new LlmAgent({name: 'root', model: new Script(callsOf('thread'), pieces('done')), tools: [tool]});
  const runner = new InMemoryRunner({agent, appName: 'app'});
  for await (const event of runner.runEphemeral({userId: 'u', newMessage: {role: 'user', parts: [{text: 'Go.'}]}})) {
    for (const {response} of getFunctionResponses(event)) print(JSON.stringify(response));
  }
}

// oxlint-disable-next-line import/no-default-export -- what workerd asks a worker for.
export default worker;
