// Starts a live run, leaves it in one way when its parent says so, and prints how it ended. It has nothing more to do then: the process must
// end by itself.
import {once} from 'node:events';
import {FunctionTool, InMemoryRunner, LiveRequestQueue, LlmAgent, type Run} from 'sluice';
import {Gemini} from 'sluice/gemini';

const [how = '', baseUrl = '', service = '', timeoutMs = '600000'] = process.argv.slice(2);

const fetching = new FunctionTool({
  name: 'look_up',
  description: 'Asks a service.',
  execute: async (_args, {abortSignal}) => (await fetch(service, {signal: abortSignal})).text(),
});
const model = new Gemini({model: 'gemini-live-2.5-flash-preview', apiKey: 'test', httpOptions: {baseUrl}});
const agent = new LlmAgent({name: 'root', model, tools: [fetching]});
const runner = new InMemoryRunner({agent, appName: 'app', autoCreateSession: true, runConfig: {timeoutMs: Number(timeoutMs)}});
const liveRequestQueue = new LiveRequestQueue();
void liveRequestQueue.sendContent({parts: [{text: 'go'}]});
const stop = new AbortController();
const run: Run = runner.runLive({userId: 'u', sessionId: 's', liveRequestQueue, abortSignal: stop.signal});

const ways: Record<string, () => unknown> = {
  return: () => run.return(),
  abort: () => stop.abort(),
  throw: () => run.throw(new Error('thrown in')).catch(() => {}),
  cancel: () => runner.cancel({userId: 'u', sessionId: 's'}),
  close: () => runner.close({timeoutMs: 0}),
};
const way = ways[how];

if (how === 'break') for await (const _ of run) break;
// Nobody ever asks for another Event, or leaves.
else if (how === 'drop') await run.next().catch(() => {});
else {
  const reading = (async () => {
    for await (const _ of run);
  })().catch(() => {});
  await once(process.stdin, 'data');
  await way?.();
  await reading;
  process.stdin.destroy();
}
void run.settled.then(({kind}) => console.log(kind));
