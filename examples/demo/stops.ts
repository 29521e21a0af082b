import {getEventListeners} from 'node:events';
import {setTimeout as pause} from 'node:timers/promises';
import {stringifyContent} from 'sluice';
import {collect} from 'sluice/testing';
import type {DemoOptions} from './command-line.ts';
import {printOutcome, printSocket} from './ending.ts';
import {EventPrinter} from './event-printer.ts';
import {fact, fit, heading, line, ms, paint, width} from './screen.ts';
import {printSession} from './session-printer.ts';
import {openStage, type Stage} from './stage.ts';
import {barsOf, timeline} from './timeline.ts';
import {toolOf} from './travel-agent.ts';
import {longReply, question, shortReply, travelReplies} from './travel-model.ts';

/** A run is aborted while its tools run; then the conversation goes on. */
export async function stopInTools(options: DemoOptions): Promise<void> {
  heading(
    '3  Stopped in the middle of its tools',
    'With maxConcurrentTools: 2 the flights wait for a place. 25 ms after they got it, the caller’s AbortController aborts the run.',
  );
  await using stage = await openStage({...options, replies: [...travelReplies().slice(0, 1), shortReply()]});
  const stop = new AbortController();
  const reading = collect(stage.ask(question, {abortSignal: stop.signal, runConfig: {maxConcurrentTools: 2}}));
  await Promise.race([underWay(stage), reading]);

  const stoppedAt = performance.now();
  const reason = new Error('The user pressed Stop');
  stop.abort(reason);
  const {error, outcome} = await reading;
  const tookMs = performance.now() - stoppedAt;

  fact('next()', error === reason ? `rejected with the signal’s own reason, ${ms(tookMs)} after abort()` : `ended with ${String(error)}`);
  printOutcome(outcome);
  fact('listeners', `${getEventListeners(stop.signal, 'abort').length} left on the caller’s signal`);
  line();
  await printSockets(stage, stoppedAt);
  line();
  printSession(await stage.events());
  line();
  line(paint('bold', '  And the conversation goes on'));
  await goOn(stage);
}

/** A reader leaves its loop while the model’s text comes in. */
export async function stopInStream(options: DemoOptions): Promise<void> {
  heading(
    '4  Stopped in the middle of the model’s stream',
    'The reader has seen enough and leaves its for-await loop: break is all that it takes.',
  );
  await using stage = await openStage({...options, replies: [longReply()]});
  const text = 'Tell me about Shanghai, at length.';
  const run = stage.ask(text);
  const printer = new EventPrinter();
  printer.user(text);
  let [seen, stoppedAt] = [0, 0];
  for await (const event of run) {
    printer.event(event);
    if (stringifyContent(event)) seen++;
    stoppedAt = performance.now();
    if (seen === 6) break;
  }
  const tookMs = performance.now() - stoppedAt;
  printer.cut('break');
  line();
  fact('the loop', `ended ${ms(tookMs)} after break; nothing was thrown`);
  printOutcome(await run.settled);
  line();
  await printSockets(stage, stoppedAt);
  line();
  printSession(await stage.events());
}

/** The third tool runs: with two places, one of the others has ended. Of the real Gemini nobody knows how many tools it will ask for. */
async function underWay({gemini, tools}: Stage): Promise<void> {
  for (let started = 0; started < (gemini ? 3 : 1); started++) await tools.nextRequest();
  await pause(25);
}

async function goOn(stage: Stage): Promise<void> {
  const text = 'Never mind. Which hotel do you recommend?';
  const printer = new EventPrinter();
  printer.user(text);
  for await (const event of stage.ask(text)) printer.event(event);
  printer.end();
  if (stage.gemini) fact('Gemini', 'took the history; as the real one, it refuses a call without its response');
}

/** What the servers know of their own sockets. */
async function printSockets({gemini, tools}: Stage, stoppedAt: number): Promise<void> {
  line(paint('bold', '  The servers saw'));
  if (tools.requests.length > 0) {
    const bars = await barsOf(tools.requests, toolOf);
    const at = stoppedAt - (tools.requests[0]?.startedAt ?? stoppedAt);
    for (const row of timeline(bars, {at, text: 'abort()'})) line(row);
    line();
  }
  for (const {path, startedAt, closed} of tools.requests) await printSocket({name: `tool ${path}`, openedAt: startedAt, closed, stoppedAt});
  for (const {action, receivedAt, closed} of gemini?.requests ?? []) {
    await printSocket({name: fit(action, width / 2), openedAt: receivedAt, closed, stoppedAt});
  }
  if (!gemini) fact('Gemini', 'is the real one, and does not tell');
}
