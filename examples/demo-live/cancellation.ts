import {getFunctionCalls} from 'sluice';
import type {DemoOptions} from '../demo/command-line.ts';
import {fact, heading, line, ms} from '../demo/screen.ts';
import {barsOf, timeline} from '../demo/timeline.ts';
import {toolOf} from './concierge.ts';
import {cancelled, said} from './scripts.ts';
import {openStage, type Stage} from './stage.ts';

/** Three calls run, and the server takes one of them back. */
export async function takeOneBack(options: DemoOptions): Promise<void> {
  heading(
    '3  One of three calls is taken back',
    'While the tools run, the user changes his mind about one. The server cancels that call, and waits for the other two.',
  );
  await using stage = await openStage(options, cancelled);
  stage.say(said.three);
  for await (const event of stage.run) {
    stage.printer.event(event);
    if (getFunctionCalls(event).length > 0) stage.say(said.noTaxi);
    if (event.turnComplete) stage.queue.close();
  }
  stage.printer.end();
  line();
  await printCalls(stage);
  line();
  stage.frames.print('toolCall', 'toolCallCancellation', 'toolResponse');
}

async function printCalls({tools, calls, frames}: Stage): Promise<void> {
  const [came] = frames.of('toolCallCancellation');
  const [first] = tools.requests;
  if (!came || !first) throw new Error('No call was taken back');
  const bars = await barsOf(tools.requests, toolOf);
  for (const row of timeline(bars, {at: came.at - first.startedAt, text: 'toolCallCancellation'})) line(row);
  line();
  for (const {name, signal, firedAt} of calls) {
    if (firedAt === undefined) fact(name, 'its signal did not fire');
    else fact(name, `its signal fired ${ms(firedAt - came.at)} after it: “${(signal.reason as Error).message}”`, 'red');
  }
}
