import type {DemoOptions} from '../demo/command-line.ts';
import {takeOneBack} from './cancellation.ts';
import {moveOn} from './go-away.ts';
import {interrupt} from './interruption.ts';
import {stopInSpeech} from './stop.ts';
import {callTwoTools} from './two-calls.ts';

/** The whole demo. Of a real model nobody knows what it will do: only the parts that need no script are shown with it. */
export async function show(options: DemoOptions): Promise<void> {
  const isScripted = options.liveKey === undefined;
  await callTwoTools(options);
  if (isScripted) {
    await interrupt(options);
    await takeOneBack(options);
    await moveOn(options);
  }
  await stopInSpeech(options, isScripted ? 5 : 2);
}
