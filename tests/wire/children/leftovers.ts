// Stops runs in several ways at several moments, with the real clock and nothing else in the process, and prints after each how many timers
// still hold the process. Its servers live in it too, and are closed at the end: then it must end by itself.
import {FunctionTool, InMemoryRunner, LlmAgent, StreamingMode, type Run} from 'sluice';
import {Gemini} from 'sluice/gemini';
import {answer, calls, chunks, failure, GeminiServer, ToolService, type GeminiReplySource} from 'sluice/testing';

const server = await GeminiServer.start();
const service = await ToolService.start({delayMs: 60_000});

const fetching = new FunctionTool({
  name: 'look_up',
  description: 'Asks a service.',
  execute: async (_args, {abortSignal}) => (await fetch(service.url, {signal: abortSignal})).text(),
});

function newRunner(): InMemoryRunner {
  const model = new Gemini({model: 'gemini-2.5-flash', apiKey: 'test', retryDelayMs: 25_000, httpOptions: {baseUrl: server.url}});
  const agent = new LlmAgent({name: 'root', model, tools: [fetching]});
  return new InMemoryRunner({agent, appName: 'app', runConfig: {streamingMode: StreamingMode.SSE}});
}

const ways: Record<string, (run: Run, runner: InMemoryRunner, stop: AbortController) => unknown> = {
  abort: (_run, _runner, stop) => stop.abort(),
  return: (run) => run.return(),
  throw: (run) => run.throw(new Error('thrown in')).catch(() => {}),
  cancel: (run, runner) => runner.cancel({invocationId: run.invocationId}),
  close: (_run, runner) => runner.close({timeoutMs: 0}),
};

const moments: Record<string, {reply: GeminiReplySource; reached: () => Promise<unknown>}> = {
  'before the headers': {reply: chunks([], {fault: {kind: 'stall', after: 'request'}}), reached: () => server.nextRequest()},
  'in mid stream': {reply: chunks(['one', 'two'], {fault: {kind: 'stall', after: 1}}), reached: () => server.nextRequest().then(turns)},
  'during a back-off': {reply: failure({code: 503}), reached: async () => (await server.nextRequest()).closed.then(turns)},
  'while a tool runs': {reply: calls([{name: 'look_up'}]), reached: async () => (await server.nextRequest(), await service.nextRequest())},
};

async function turns(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
}

const timers = (): number => process.getActiveResourcesInfo().filter((it) => it === 'Timeout').length;

for (const [how, stopBy] of Object.entries(ways)) {
  for (const [when, {reply, reached}] of Object.entries(moments)) {
    server.reply(reply);
    const runner = newRunner();
    const stop = new AbortController();
    const run = runner.runEphemeral({userId: 'u', newMessage: {role: 'user', parts: [{text: 'go'}]}, abortSignal: stop.signal});
    const reading = (async () => {
      for await (const _ of run);
    })().catch(() => {});
    await reached();
    const during = timers() > 0;
    await stopBy(run, runner, stop);
    await reading;
    const {kind} = await run.settled;
    // The service has a timer of its own until it sees that nobody waits for its answer any more.
    for (const {closed} of [...server.requests, ...service.requests]) await closed;
    await turns();
    console.log(JSON.stringify({how, when, kind, during, after: timers()}));
  }
}
server.reply(answer('unused'));
console.log(JSON.stringify({requests: [server.requests.length, service.requests.length]}));
await Promise.all([server.close(), service.close()]);
