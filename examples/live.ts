// A chat with a live model in a terminal: type a line, and read what the model says to it.
//
//   GEMINI_API_KEY=... node examples/live.ts
//
// The end of the input (Ctrl-D) lets it finish, Ctrl-C stops it at once.
import {createInterface} from 'node:readline';
import {InMemoryRunner, LiveRequestQueue, LlmAgent, stringifyContent, type Event} from 'sluice';

const model = process.env['LIVE_MODEL'] ?? 'gemini-3.1-flash-live-preview';
const agent = new LlmAgent({name: 'guide', model, instruction: 'Answer in a sentence or two.'});
// A chat lasts as long as its user likes.
const runner = new InMemoryRunner({agent, appName: 'chat', runConfig: {timeoutMs: Infinity, maxLlmCalls: Infinity}});
const {appName, userId, id: sessionId} = await runner.sessionService.createSession({appName: 'chat', userId: 'me'});

const stop = new AbortController();
process.once('SIGINT', () => stop.abort(new Error('Ctrl-C')));

const queue = new LiveRequestQueue();
const keyboard = createInterface({input: process.stdin});
keyboard.on('line', (text) => {
  // As realtime input, which interrupts a model that speaks, and which every live model takes at any time.
  if (text.trim() && !queue.closed) void queue.sendRealtime({text});
});
keyboard.on('close', () => queue.close());

try {
  process.stdout.write('> ');
  for await (const event of runner.runLive({userId, sessionId, liveRequestQueue: queue, abortSignal: stop.signal})) {
    // The sound passes by: a terminal has no voice.
    if (event.partial) process.stdout.write(textOf(event));
    if (event.interrupted) process.stdout.write(' …');
    if (event.turnComplete) process.stdout.write('\n> ');
  }
  console.log();
} catch (error) {
  // The signal decides whether this is a stop, never the error's name.
  if (!stop.signal.aborted) {
    console.error(`\n${error instanceof Error ? error.message : String(error)}`);
    process.exitCode = 1;
  } else {
    console.log('\n\nStopped. Kept in the session:');
    for (const event of (await runner.sessionService.getSession({appName, userId, sessionId}))?.events ?? []) {
      const text = textOf(event);
      if (text) console.log(`  ${event.author}: ${text}${event.customMetadata?.['stopped'] ? ' [stopped]' : ''}`);
    }
    // What a shell expects of a program that Ctrl-C has ended.
    process.exitCode = 130;
  }
} finally {
  keyboard.close();
  await runner.close();
}

/** What was written, or spoken: the model speaks, and its words come beside the sound. */
function textOf(event: Event): string {
  return stringifyContent(event) || (event.outputTranscription?.text ?? '');
}
