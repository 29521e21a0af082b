import {setTimeout as pause} from 'node:timers/promises';
import type {DemoOptions} from '../demo/command-line.ts';
import {fact, heading, line, ms} from '../demo/screen.ts';
import {barsOf, timeline} from '../demo/timeline.ts';
import {toolOf} from './concierge.ts';
import {interrupted, said} from './scripts.ts';
import {describeSound, durationOf, soundIn} from './sound.ts';
import {openStage, type Stage} from './stage.ts';

/** What a reader knows who plays the sound that it reads. */
interface Playing {
  /** How many bytes of sound it had played when it was interrupted. */
  readonly played: number;
  readonly toldAt: number;
}

/** The user speaks over the model while a tool runs. */
export async function interrupt(options: DemoOptions): Promise<void> {
  heading(
    '2  Interrupted while a tool runs',
    'This reader plays each piece of sound before it reads on. At the fourth the user speaks over it, and the tool still runs.',
  );
  await using stage = await openStage(options, interrupted);
  stage.say(said.taxi);
  const playing = await play(stage);
  stage.printer.end();
  line();
  await printInterruption(stage, playing);
  line();
  stage.frames.print('toolCall', 'serverContent.interrupted', 'serverContent.turnComplete', 'toolResponse');
}

async function play(stage: Stage): Promise<Playing> {
  let [bytes, pieces, turns] = [0, 0, 0];
  let playing: Playing = {played: 0, toldAt: 0};
  for await (const event of stage.run) {
    stage.printer.event(event);
    const sound = soundIn(event);
    bytes += sound;
    if (sound > 0 && ++pieces === 4) stage.say(said.changed);
    if (sound > 0) await pause(durationOf(sound));
    if (event.interrupted) playing = {played: bytes, toldAt: performance.now()};
    if (event.turnComplete && ++turns === 2) stage.queue.close();
  }
  return playing;
}

async function printInterruption({frames, tools, calls}: Stage, {played, toldAt}: Playing): Promise<void> {
  const [came] = frames.of('serverContent.interrupted');
  const [request] = tools.requests;
  const firedAt = calls[0]?.firedAt;
  if (!came || !request || firedAt === undefined) throw new Error('No tool was interrupted');
  const bars = await barsOf(tools.requests, toolOf);
  for (const row of timeline(bars, {at: came.at - request.startedAt, text: 'interrupted'})) line(row);
  line();
  const sound = frames.soundUntil(came.at);
  const {afterMs} = await request.closed;
  fact('interrupted', `reached the reader ${ms(toldAt - came.at)} after it came, behind the piece of sound that was playing`);
  fact('sound', `played ${describeSound(played)}; dropped unread ${describeSound(sound - played)}`, 'green');
  fact('signal', `of the tool fired ${ms(firedAt - came.at)} after interrupted`);
  fact('socket', `at the tool service closed after ${ms(afterMs)}, ${ms(request.startedAt + afterMs - came.at)} after interrupted`, 'red');
  fact('answers sent', `${frames.of('toolResponse').length}: the model wants none to a call that was cut off`);
}
