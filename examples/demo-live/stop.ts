import type {DemoOptions} from '../demo/command-line.ts';
import {printOutcome, printSocket} from '../demo/ending.ts';
import {fact, heading, line, ms} from '../demo/screen.ts';
import {printSession} from '../demo/session-printer.ts';
import {longSpeech, said} from './scripts.ts';
import {describeSound, soundIn} from './sound.ts';
import {openStage, type Stage} from './stage.ts';

/** A reader leaves its loop while the model speaks. */
export async function stopInSpeech(options: DemoOptions, number: number): Promise<void> {
  heading(
    `${number}  Stopped in the middle of a speech`,
    'The reader has heard enough and leaves its for-await loop: break is all that it takes.',
  );
  await using stage = await openStage(options, longSpeech);
  stage.say(said.walk);
  let [heard, stoppedAt] = [0, 0];
  for await (const event of stage.run) {
    stage.printer.event(event);
    if (soundIn(event) > 0) heard++;
    stoppedAt = performance.now();
    if (heard === 6) break;
  }
  const tookMs = performance.now() - stoppedAt;
  stage.printer.cut('break');
  line();
  fact('the loop', `ended ${ms(tookMs)} after break; nothing was thrown`);
  printOutcome(await stage.run.settled);
  line();
  await printServer(stage, stoppedAt);
  line();
  await printStored(stage);
}

async function printServer({gemini, frames}: Stage, stoppedAt: number): Promise<void> {
  frames.print('opened', 'closed');
  for (const {openedAt, closed} of gemini?.sessions ?? []) {
    await printSocket({name: 'as its server saw it:', openedAt, closed, stoppedAt});
  }
}

async function printStored(stage: Stage): Promise<void> {
  const stored = await stage.events();
  printSession(stored);
  const kept = stored.reduce((bytes, event) => bytes + soundIn(event), 0);
  fact('sound', `over the wire came ${describeSound(stage.frames.soundUntil())}; ${kept} bytes are in the session`, 'green');
}
