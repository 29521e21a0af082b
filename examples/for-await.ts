// An app in a terminal: asks a question, streams the answer, and stops on Ctrl-C.
//
//   node examples/for-await.ts "Why is the sky blue?"
//
// With GEMINI_API_KEY it asks Gemini; without one, a scripted model answers.
import {setTimeout as pause} from 'node:timers/promises';
import {InMemoryRunner, LlmAgent, StreamingMode, stringifyContent, type BaseLlm, type LlmResponse} from 'sluice';
import {ScriptedLlm} from 'sluice/testing';

const question = process.argv.slice(2).join(' ') || 'Why is the sky blue?';
const model = process.env['GEMINI_API_KEY'] ? 'gemini-2.5-flash' : scriptedModel();

const agent = new LlmAgent({name: 'guide', model, instruction: 'Answer in one paragraph.'});
const runner = new InMemoryRunner({agent, appName: 'terminal', runConfig: {streamingMode: StreamingMode.SSE}});
const {appName, userId, id: sessionId} = await runner.sessionService.createSession({appName: 'terminal', userId: 'me'});

const stop = new AbortController();
process.once('SIGINT', () => stop.abort(new Error('Ctrl-C')));

const run = runner.runAsync({userId, sessionId, newMessage: {role: 'user', parts: [{text: question}]}, abortSignal: stop.signal});
try {
  for await (const event of run) {
    if (event.partial) process.stdout.write(stringifyContent(event));
    if (event.errorCode) console.error(`\n${event.errorCode}: ${event.errorMessage ?? ''}`);
  }
  console.log();
} catch (error) {
  // The signal decides whether this is a stop, never the error's name.
  if (!stop.signal.aborted) throw error;
  const {kind, usage} = await run.settled;
  console.log(`\n\nStopped (${kind}, ${usage?.totalTokenCount ?? 0} tokens). Kept in the session:`);
  for (const event of (await runner.sessionService.getSession({appName, userId, sessionId}))?.events ?? []) {
    console.log(`  ${event.author}: ${stringifyContent(event)}${event.customMetadata?.['stopped'] ? '[stopped]' : ''}`);
  }
  // What a shell expects of a program that Ctrl-C has ended.
  process.exitCode = 130;
} finally {
  await runner.close();
}

function scriptedModel(): BaseLlm {
  console.error('GEMINI_API_KEY is not set: a scripted model answers. Press Ctrl-C to stop it.\n');
  const text =
    'Sunlight holds all colours. The air scatters the short waves, blue and violet, far more than the long ones, so that blue light ' +
    'reaches the eye from every side of the sky, and red light only straight from the sun. Near the horizon the way through the air is ' +
    'long; most of the blue is scattered out of it, and what is left of the evening sun is red.';
  return new ScriptedLlm({
    steps: [
      async function* (): AsyncGenerator<LlmResponse, void> {
        for (const piece of text.match(/\S+\s*/g) ?? []) {
          yield {partial: true, content: {role: 'model', parts: [{text: piece}]}};
          await pause(60);
        }
        yield {content: {role: 'model', parts: [{text}]}, finishReason: 'STOP'};
      },
    ],
  });
}
