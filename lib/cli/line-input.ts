import {addAbortSignal, type Readable} from 'node:stream';
import {messageOf} from '../errors.ts';
import {CliError} from './cli-error.ts';

/** Where the messages of a chat come from. */
export interface Input {
  /** The next message; `undefined` once there is none, or the program is to end. */
  next(prompt: string): Promise<string | undefined>;
  close(): void;
}

/** One message, given beforehand. */
export function onlyInput(message: string): Input {
  const messages = [message];
  return {next: async () => messages.shift(), close: () => {}};
}

/**
 * A message per line of a stream, read when it is asked for.
 *
 * @param leave - ends it
 * @param ask - shows a prompt; by default none is
 */
export function lineInput(stream: Readable, leave: AbortSignal, ask: (prompt: string) => void = () => {}): Input {
  const lines = linesOf(stream, leave);
  return {
    next: async (prompt) => {
      ask(prompt);
      const {value} = await lines.next();
      return value ?? undefined;
    },
    close: () => stream.destroy(),
  };
}

/** Not readline's lines: those end at U+2028 as well, which JSON may hold. */
async function* linesOf(stream: Readable, leave: AbortSignal): AsyncGenerator<string, void, undefined> {
  // The line that is not whole yet. In one text, a long line would be copied again for every piece that comes.
  let pieces: string[] = [];
  try {
    for await (const chunk of addAbortSignal(leave, stream.setEncoding('utf8')) as AsyncIterable<string>) {
      const [end = '', ...begun] = chunk.split('\n');
      pieces.push(end);
      for (const piece of begun) {
        yield pieces.join('').replace(/\r$/, '');
        pieces = [piece];
      }
    }
  } catch (error) {
    if (leave.aborted) return;
    throw new CliError(`Cannot read stdin: ${messageOf(error)}`, {cause: error});
  }
  const rest = pieces.join('');
  if (rest !== '') yield rest;
}
