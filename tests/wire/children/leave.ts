// Leaves a run in the middle, prints how it ended, and has nothing more to do: the process must end by itself.
import {FunctionTool, InMemoryRunner, LlmAgent, StreamingMode} from 'sluice';
import {Gemini} from 'sluice/gemini';

const [what, model = '', service = ''] = process.argv.slice(2);

const fetching = new FunctionTool({
  name: 'look_up',
  description: 'Asks a service.',
  execute: async (_args, {abortSignal}) => (await fetch(service, {signal: abortSignal})).text(),
});
const agent = new LlmAgent({
  name: 'root',
  model: new Gemini({model: 'gemini-2.5-flash', apiKey: 'test', httpOptions: {baseUrl: model}}),
  tools: [fetching],
});
const runner = new InMemoryRunner({agent, appName: 'app', runConfig: {streamingMode: StreamingMode.SSE}});
const run = runner.runEphemeral({userId: 'u', newMessage: {role: 'user', parts: [{text: 'go'}]}});

if (what === 'break') for await (const _ of run) break;
else {
  const reading = (async () => {
    for await (const _ of run);
  })();
  // The parent says when: it sees what the servers see.
  process.stdin.once('data', () => void run.return());
  await reading;
  process.stdin.destroy();
}
console.log((await run.settled).kind);
