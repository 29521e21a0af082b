import type {DemoOptions} from '../demo/command-line.ts';
import {fact, heading, line, ms} from '../demo/screen.ts';
import {barsOf, span, timeline} from '../demo/timeline.ts';
import {toolOf} from './concierge.ts';
import {said, twoCalls} from './scripts.ts';
import {openStage, type Stage} from './stage.ts';

/** A spoken question, two calls in one message, and a spoken answer. */
export async function callTwoTools(options: DemoOptions): Promise<void> {
  await using stage = await openStage(options, twoCalls);
  const where = stage.gemini ? `a Live API server on this machine (${stage.gemini.url})` : 'Google’s Live API';
  heading(
    '1  Two calls in one message',
    `${options.model} on ${where}; each tool an HTTP call of about 400 ms (${stage.tools.url}). ● is stored, · is partial and ` +
      'passes by, ♪ is a piece of sound.',
  );
  stage.say(said.two);
  for await (const event of stage.run) {
    stage.printer.event(event);
    if (event.turnComplete) stage.queue.close();
  }
  stage.printer.end();
  line();
  await printTools(stage);
  line();
  stage.frames.print('toolCall', 'toolResponse');
}

async function printTools({tools, frames}: Stage): Promise<void> {
  const bars = await barsOf(tools.requests, toolOf);
  if (bars.length === 0) return fact('no tools', 'The model answered without a look-up.');
  for (const row of timeline(bars)) line(row);
  line();
  const each = bars.map(({start, end}) => end - start);
  const sum = each.reduce((total, took) => total + took, 0);
  fact('together', `${ms(span(bars))} for ${each.map(ms).join(' and ')}; one after the other they would take ${ms(sum)}`, 'green');
  const [asked] = frames.of('toolCall');
  const answers = frames.of('toolResponse');
  const after = (answers.at(-1)?.at ?? NaN) - (asked?.at ?? NaN);
  fact('answered', `in ${answers.length === 1 ? 'one message' : `${answers.length} messages`}, ${ms(after)} after the calls came`);
}
