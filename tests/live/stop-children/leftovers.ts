// Stops live runs in several ways at several moments, with the real clock and nothing else in the process, and prints after each which
// timers and sockets are left. Its servers live in it too, and are closed at the end: then it must end by itself.
import {FunctionTool, InMemoryRunner, LiveRequestQueue, LlmAgent, type Run} from 'sluice';
import {Gemini} from 'sluice/gemini';
import {GeminiLiveServer, ToolService, type LiveScript, type LiveSessionOptions} from 'sluice/testing';

const server = await GeminiLiveServer.start();
const service = await ToolService.start({delayMs: 60_000});

const fetching = new FunctionTool({
  name: 'look_up',
  description: 'Asks a service.',
  execute: async (_args, {abortSignal}) => (await fetch(service.url, {signal: abortSignal})).text(),
});

function newRunner(): InMemoryRunner {
  const model = new Gemini({model: 'gemini-live-2.5-flash-preview', apiKey: 'test', httpOptions: {baseUrl: server.url}});
  return new InMemoryRunner({agent: new LlmAgent({name: 'root', model, tools: [fetching]}), appName: 'app', autoCreateSession: true});
}

const ways: Record<string, (run: Run, runner: InMemoryRunner, stop: AbortController) => unknown> = {
  abort: (_run, _runner, stop) => stop.abort(),
  return: (run) => run.return(),
  throw: (run) => run.throw(new Error('thrown in')).catch(() => {}),
  cancel: (run, runner) => runner.cancel({invocationId: run.invocationId}),
  close: (_run, runner) => runner.close({timeoutMs: 0}),
};

interface Moment {
  readonly script: LiveScript;
  readonly options?: LiveSessionOptions;
  readonly reached: () => Promise<unknown>;
}

const heard: LiveScript = [(session) => session.acknowledge(), 'clientContent'];
const busy = {
  status: 503,
  body: {error: {code: 503, message: 'busy', details: [{'@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '25s'}]}},
};

const moments: Record<string, Moment> = {
  'before the handshake': {script: [], options: {handshake: 'stall'}, reached: () => server.nextSession()},
  'before the setup': {script: ['setup'], reached: async () => (await server.nextSession()).message('setup')},
  'in mid turn': {
    script: [...heard, (session) => session.say('one')],
    reached: async () => (await server.nextSession()).message('clientContent').then(turns),
  },
  'during a back-off': {script: [], options: {handshake: busy}, reached: async () => (await server.nextSession()).closed.then(turns)},
  'while a tool runs': {
    script: [...heard, (session) => void session.toolCall([{name: 'look_up'}])],
    reached: async () => (await server.nextSession(), await service.nextRequest()),
  },
};

async function turns(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
}

const held = (): string[] => process.getActiveResourcesInfo().filter((it) => /Timeout|TCPSocketWrap|ConnectWrap/.test(it));

for (const [how, stopBy] of Object.entries(ways)) {
  for (const [when, {script, options = {}, reached}] of Object.entries(moments)) {
    server.session(script, options);
    const runner = newRunner();
    const stop = new AbortController();
    const liveRequestQueue = new LiveRequestQueue();
    void liveRequestQueue.sendContent({parts: [{text: 'go'}]});
    const run = runner.runLive({userId: 'u', sessionId: 's', liveRequestQueue, abortSignal: stop.signal});
    const reading = (async () => {
      for await (const _ of run);
    })().catch(() => {});
    await reached();
    const during = held().length > 0;
    await stopBy(run, runner, stop);
    await reading;
    const {kind} = await run.settled;
    for (const {closed} of [...server.sessions, ...service.requests]) await closed;
    await turns();
    console.log(JSON.stringify({how, when, kind, during, after: held()}));
  }
}
console.log(JSON.stringify({connections: server.sessions.length, requests: service.requests.length}));
await Promise.all([server.close(), service.close()]);
