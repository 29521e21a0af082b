import type {Interrupts} from './interrupts.ts';
import {write} from './output.ts';
import {printable} from './printable.ts';

/**
 * What a person reads: the text of answers on stdout, so that it can be piped or kept, and everything about it on stderr. Nothing of it
 * is obeyed by a terminal, and the two do not run into each other on one.
 */
export class Screen {
  readonly #interrupts: Interrupts;
  /** Whether stdout stands within a line. */
  #midLine = false;

  /** @param interrupts - end the waiting for a reader that is slow */
  constructor(interrupts: Interrupts) {
    this.#interrupts = interrupts;
  }

  /** A piece of an answer. */
  async text(text: string): Promise<void> {
    const shown = printable(text);
    if (shown !== '') this.#midLine = !shown.endsWith('\n');
    await write(process.stdout, shown, this.#interrupts.stop);
  }

  /** A terminal has shown the key that it made a signal of: `^C`. */
  echoedKey(): void {
    if (process.stdin.isTTY && process.stdout.isTTY) this.#midLine = true;
  }

  /** Ends the line of an answer, where one is open. */
  async endLine(): Promise<void> {
    if (this.#midLine) await this.text('\n');
  }

  /** Something about the run, on lines of its own. */
  async note(text: string): Promise<void> {
    // In a file or a pipe the answer stays in one piece.
    if (process.stdout.isTTY && process.stderr.isTTY) await this.endLine();
    await write(process.stderr, `${faint(printable(text))}\n`, this.#interrupts.stop);
  }

  /** Something that went wrong. */
  async problem(message: string): Promise<void> {
    await this.endLine();
    await write(process.stderr, `${printable(`sluice: ${message}`)}\n`, this.#interrupts.stop);
  }
}

/** Set back from the answers, on a terminal that has colours and whose user wants them. */
function faint(text: string): string {
  return process.stderr.isTTY && process.stderr.hasColors() ? `\u001B[2m${text}\u001B[22m` : text;
}
