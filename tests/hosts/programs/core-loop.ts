import {FunctionTool, InMemoryRunner, LlmAgent, StreamingMode, getFunctionResponses, stringifyContent, type Run} from 'sluice';
import {callsOf, pieces, Script} from './script.ts';

/** The core on a host: a run with tools to its end, one that is left, one that is aborted while a tool runs. */
export async function coreLoop(print: (line: string) => void): Promise<void> {
  const started = Promise.withResolvers<void>();
  const answering = new FunctionTool({name: 'answer', description: 'Answers.', execute: () => 42});
  const waiting = new FunctionTool({
    name: 'wait',
    description: 'Waits until it is stopped.',
    execute: async (_args, {abortSignal}) => {
      started.resolve();
      await new Promise((resolve) => abortSignal.addEventListener('abort', resolve, {once: true}));
      print('the tool is stopped');
      throw abortSignal.reason;
    },
  });
  const model = new Script(callsOf('answer', 'answer'), pieces('forty', ' two'), pieces('never', ' heard'), callsOf('wait'));
  const agent = new LlmAgent({name: 'root', model, tools: [answering, waiting]});
  const runner = new InMemoryRunner({agent, appName: 'app', autoCreateSession: true, runConfig: {streamingMode: StreamingMode.SSE}});
  const newMessage = {role: 'user', parts: [{text: 'Go.'}]};
  const run = (abortSignal?: AbortSignal): Run =>
    runner.runAsync({userId: 'u', sessionId: 's', newMessage, ...(abortSignal && {abortSignal})});

  const whole = run();
  for await (const event of whole) {
    for (const {response} of getFunctionResponses(event)) print(JSON.stringify(response));
    const text = stringifyContent(event);
    if (text) print(`${event.partial ? 'partial' : 'whole'} ${text}`);
  }
  print((await whole.settled).kind);

  const left = run();
  for await (const event of left) {
    print(`left at ${stringifyContent(event)}`);
    break;
  }
  print((await left.settled).kind);

  const stop = new AbortController();
  const aborted = run(stop.signal);
  await aborted.next();
  const pending = aborted.next().catch((error: unknown) => print(`rejected with ${(error as Error).message}`));
  await started.promise;
  stop.abort(new Error('enough'));
  await pending;
  print((await aborted.settled).kind);
  const session = await runner.sessionService.getSession({appName: 'app', userId: 'u', sessionId: 's'});
  print(JSON.stringify(session?.events.flatMap(getFunctionResponses).map(({response}) => response)));
  await runner.close();
}

/** What it prints. */
export const expected: readonly string[] = [
  '{"result":42}',
  '{"result":42}',
  'partial forty',
  'partial  two',
  'whole forty two',
  'done',
  'left at never',
  'return',
  'the tool is stopped',
  'rejected with enough',
  'abort',
  '[{"result":42},{"result":42},{"error":"cancelled; it may have taken effect","started":true}]',
];
