// Serves an agent until a signal ends the process. What it stores goes to a file, a line for each Event, which outlives it.
import {appendFileSync} from 'node:fs';
import {InMemorySessionService, LlmAgent, Runner, StreamingMode, type AppendEventRequest, type Event} from 'sluice';
import {Gemini} from 'sluice/gemini';
import {listen} from 'sluice/node';
import {createHandler, type Handler} from 'sluice/serve';

const [baseUrl = '', file = '', drainTimeoutMs = '', how = ''] = process.argv.slice(2);

class FileSessionService extends InMemorySessionService {
  override async appendEvent(request: AppendEventRequest): Promise<Event> {
    const stored = await super.appendEvent(request);
    if (!stored.partial) appendFileSync(file, `${JSON.stringify(stored)}\n`);
    return stored;
  }
}

const model = new Gemini({model: 'gemini-2.5-flash', apiKey: 'test', httpOptions: {baseUrl}});
const runner = new Runner({
  agent: new LlmAgent({name: 'root', model}),
  appName: 'app',
  sessionService: new FileSessionService(),
  autoCreateSession: true,
  runConfig: {streamingMode: StreamingMode.SSE},
});
const handler = createHandler({runner});

/** A close that fails, or that never ends. */
const closes: Record<string, Handler['close']> = {
  fails: () => Promise.reject(new Error('broken')),
  hangs: () => new Promise(() => {}),
};
const close = closes[how];
const listener = await listen(close ? Object.assign(handler, {close}) : handler, {port: 0, drainTimeoutMs: Number(drainTimeoutMs)});
const other = await listen(createHandler({runner}), {port: 0, drainTimeoutMs: 0});
// Something of the program's own that would hold the process.
setInterval(() => {}, 1_000);
void listener.closed.then(() => console.log('closed'));
console.log(`${listener.url} ${other.url}`);
