import {ExitCode} from './cli-error.ts';
import type {Interrupts} from './interrupts.ts';
import type {Screen} from './screen.ts';

/** Lets signals, and a reader of stdout that leaves, interrupt. */
export function onSignals(interrupts: Interrupts, screen: Screen): void {
  const interrupt = (): void => {
    screen.echoedKey();
    interrupts.interrupt();
  };
  const terminate = (): void => interrupts.end(ExitCode.TERMINATED);
  const hangUp = (): void => interrupts.end(ExitCode.HANGUP);
  const lose = (error: NodeJS.ErrnoException): void => {
    // Who reads the first lines only, as `head` does, has got what it wanted.
    if (error.code !== 'EPIPE') process.stderr.write(`sluice: Cannot write to stdout: ${error.message}\n`);
    interrupts.end(error.code === 'EPIPE' ? ExitCode.DONE : ExitCode.FAILED);
  };
  process.on('SIGINT', interrupt).on('SIGTERM', terminate).on('SIGHUP', hangUp);
  process.stdout.on('error', lose);
}
