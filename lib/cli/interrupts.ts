import {RunCancelledError} from '../errors.ts';
import {ExitCode} from './cli-error.ts';

/** What ends the run that is going on, or the whole program: Ctrl-C, a signal, a reader that left. */
export class Interrupts {
  #isChat = false;
  readonly #leave = new AbortController();
  #run: AbortController | undefined;
  #exitCode: number | undefined;

  /** From now on, a Ctrl-C that stops a run lets the program go on. */
  chat(): void {
    this.#isChat = true;
  }

  /** Fires when the program is to end. */
  get leave(): AbortSignal {
    return this.#leave.signal;
  }

  /** Fires when what goes on now is to stop: a run, or else the program. */
  get stop(): AbortSignal {
    return this.#run?.signal ?? this.leave;
  }

  /** With what the program is to end, where something ended it. */
  get exitCode(): number | undefined {
    return this.#exitCode;
  }

  /** Ctrl-C: stops the run; where there is none, or it is stopping, the program ends; and at once if it was ending already. */
  readonly interrupt = (): void => {
    if (this.#exitCode !== undefined) process.exit(ExitCode.INTERRUPTED);
    if (this.#isChat && this.#run && !this.#run.signal.aborted) this.#run.abort(new RunCancelledError('Stopped by Ctrl-C'));
    else this.end(ExitCode.INTERRUPTED);
  };

  /** Ends the program: the run is stopped, so that its session stays valid, and nothing is read any more. */
  end(exitCode: number): void {
    if (this.#exitCode !== undefined) return;
    this.#exitCode = exitCode;
    this.#run?.abort(new RunCancelledError('The program ends'));
    this.#leave.abort();
  }

  /** Does something that an interrupt can stop, through the signal that it gets. */
  async during<T>(work: (abortSignal: AbortSignal) => Promise<T>): Promise<T> {
    const run = new AbortController();
    if (this.#exitCode !== undefined) run.abort(new RunCancelledError('The program ends'));
    this.#run = run;
    try {
      return await work(run.signal);
    } finally {
      this.#run = undefined;
    }
  }
}
