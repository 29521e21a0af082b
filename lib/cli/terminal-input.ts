import {createInterface, type Interface} from 'node:readline';
import type {Input} from './line-input.ts';

/** What a terminal is told so that it marks what is pasted: its lines are then one message, sent by the user's own Enter. */
const MARK_PASTES = '\u001B[?2004h';
const UNMARK_PASTES = '\u001B[?2004l';

export interface TerminalInputOptions {
  readonly output: NodeJS.WriteStream;
  /** Ends it. */
  readonly leave: AbortSignal;
  /** Ctrl-C at an empty prompt. */
  readonly onInterrupt: () => void;
}

/**
 * A line editor with history. Between two messages the terminal is as any other program has it: what is typed stays where it is until
 * it is asked for, Ctrl-C and Ctrl-Z are signals, and Ctrl-D ends the input.
 */
export class TerminalInput implements Input {
  readonly #input: NodeJS.ReadStream;
  readonly #options: TerminalInputOptions;
  readonly #editor: Interface;
  /** Lines of a message that is not sent yet. */
  #lines: string[] = [];
  #isPasting = false;
  #isEditing = false;
  #closed = false;
  /** Will turn from what was typed ahead to keys. */
  #turning: NodeJS.Immediate | undefined;
  /** Messages that were typed ahead. */
  readonly #messages: string[] = [];
  #deliver: (() => void) | undefined;

  constructor(input: NodeJS.ReadStream, options: TerminalInputOptions) {
    this.#input = input;
    this.#options = options;
    this.#editor = createInterface({input, output: options.output, terminal: true});
    this.#editor.on('line', (line) => this.#onLine(line));
    this.#editor.on('SIGINT', () => this.#onInterrupt());
    this.#editor.on('close', () => this.#onClose());
    input.on('keypress', (_text, key: {readonly name?: string}) => {
      if (key.name === 'paste-start' || key.name === 'paste-end') this.#isPasting = key.name === 'paste-start';
    });
    options.leave.addEventListener('abort', () => this.#end(), {once: true});
    process.on('exit', () => this.#release());
    this.#release();
  }

  async next(prompt: string): Promise<string | undefined> {
    if (this.#messages.length === 0 && !this.#closed) {
      this.#take(prompt);
      await new Promise<void>((resolve) => (this.#deliver = resolve));
      this.#release();
    }
    return this.#messages.shift();
  }

  close(): void {
    this.#editor.close();
  }

  #onLine(line: string): void {
    this.#lines.push(line);
    if (this.#isPasting) return;
    this.#messages.push(this.#lines.join('\n'));
    this.#lines = [];
    this.#deliver?.();
  }

  /** Ctrl-C drops what was typed; where nothing was, it is for the program. */
  #onInterrupt(): void {
    const isEmpty = this.#editor.line === '' && this.#lines.length === 0;
    this.#lines = [];
    this.#options.output.write('^C\n');
    if (isEmpty) return this.#options.onInterrupt();
    this.#editor.write(null, {ctrl: true, name: 'e'});
    this.#editor.write(null, {ctrl: true, name: 'u'});
    return this.#editor.prompt();
  }

  /** Ctrl-D: behind a prompt, what the program's caller prints next stands on a line of its own. */
  #onClose(): void {
    if (this.#isEditing && !this.#closed) this.#options.output.write('\n');
    this.#end();
  }

  #end(): void {
    this.#closed = true;
    this.#deliver?.();
  }

  /** Asks for a message. */
  #take(prompt: string): void {
    this.#editor.setPrompt(prompt);
    // What was typed ahead stands behind the prompt.
    this.#input.prependOnceListener('data', this.#show);
    this.#editor.resume();
    // A Ctrl-D that was typed ahead is an end only while lines are read; as a key it would be lost. The reading has begun by the end of this
    // turn of the event loop, and has met what there was by the end of the next.
    this.#turning = setImmediate(() => {
      this.#turning = setImmediate(() => {
        this.#input.setRawMode(true);
        this.#input.off('data', this.#show);
        if (!this.#isEditing) this.#show();
      });
    });
  }

  readonly #show = (): void => {
    this.#isEditing = true;
    if (process.env['TERM'] !== 'dumb') this.#options.output.write(MARK_PASTES);
    this.#editor.prompt();
  };

  #release(): void {
    if (!this.#closed) this.#editor.pause();
    clearImmediate(this.#turning);
    this.#input.off('data', this.#show);
    this.#input.setRawMode(false);
    if (this.#isEditing && process.env['TERM'] !== 'dumb') this.#options.output.write(UNMARK_PASTES);
    this.#isEditing = false;
  }
}
