import type {DemoOptions} from '../demo/command-line.ts';
import {printOutcome} from '../demo/ending.ts';
import {pieces} from '../demo/pieces.ts';
import {fact, heading, line, ms} from '../demo/screen.ts';
import {goingAway, said, takingOver} from './scripts.ts';
import {openStage, type Stage} from './stage.ts';

/** The server says that it goes; the conversation goes on with the next one. */
export async function moveOn(options: DemoOptions): Promise<void> {
  heading(
    '4  The server goes away',
    'It says so in the middle of a sentence. The run hears it out, and goes on over a second connection, with the handle that it got.',
  );
  await using stage = await openStage(options, goingAway, takingOver);
  stage.say(said.kitchen);
  let turns = 0;
  for await (const event of stage.run) {
    stage.printer.event(event);
    if (event.turnComplete) turns++;
    // At once: what is said while there is no connection waits for the next one.
    if (event.turnComplete && turns === 1) stage.say(said.bar);
    if (event.turnComplete && turns === 2) stage.queue.close();
  }
  stage.printer.end();
  line();
  await printConnections(stage);
  line();
  stage.frames.print('opened', 'setup', 'goAway', 'sessionResumptionUpdate', 'serverContent.turnComplete', 'closed');
}

async function printConnections({frames, gemini, run}: Stage): Promise<void> {
  const [goAway] = frames.of('goAway');
  const [left] = frames.of('closed');
  const [, ready] = frames.of('setupComplete');
  if (!goAway || !left || !ready) throw new Error('There was no second connection');
  fact('stayed', `${ms(left.at - goAway.at)} after goAway, until the turn was complete`);
  fact('moved', `in ${ms(ready.at - left.at)}: ready on a second connection`, 'green');
  const heard = gemini?.sessions[1]?.received.filter(({payload}) => 'audio' in payload).length ?? 0;
  fact('heard there', `${heard} of the ${pieces(said.bar).length} pieces of sound that were said since`);
  printOutcome(await run.settled);
}
