import {getFunctionCalls, getFunctionResponses, stringifyContent, type Event, type FunctionCall, type FunctionResponse} from 'sluice';
import {brief, fit, line, ms, paint, width, wrap, write} from './screen.ts';

const INDENT = 31;

/** Prints the Events of a run as they come; the text of partial Events grows on one line. */
export class EventPrinter {
  readonly #start = performance.now();
  #column = 0;

  user(text: string): void {
    for (const [at, row] of wrap(text, width - INDENT).entries()) {
      if (at === 0) this.#row('you', '●', 'message', row);
      else line(`${' '.repeat(INDENT)}${row}`);
    }
  }

  event(event: Event): void {
    if (event.partial) this.#partial(event);
    else this.#whole(event);
  }

  #partial(event: Event): void {
    for (const call of getFunctionCalls(event)) this.#row(event.author, '·', 'partial', callText(call), 'dim');
    const thought = event.content?.parts?.find((part) => part.thought)?.text;
    if (thought) this.#row(event.author, '·', 'thought', fit(thought, width - INDENT), 'dim');
    const text = stringifyContent(event);
    if (text) this.#grow(event.author, text);
  }

  #whole(event: Event): void {
    const calls = getFunctionCalls(event);
    const responses = getFunctionResponses(event);
    const text = stringifyContent(event);
    if (calls.length > 0) this.#row(event.author, '●', 'event', `calls ${calls.map(({name}) => name).join(', ')}`);
    for (const [at, response] of responses.entries()) {
      if (at === 0) this.#row(event.author, '●', 'event', responseText(response));
      else line(`${' '.repeat(INDENT)}${responseText(response)}`);
    }
    if (text) {
      const tokens = event.usageMetadata?.totalTokenCount;
      this.#row(event.author, '●', 'event', `the whole text, ${text.length} characters${tokens === undefined ? '' : `, ${tokens} tokens`}`);
    }
    if (event.errorCode) this.#row(event.author, '●', 'event', `${event.errorCode}: ${event.errorMessage ?? ''}`);
  }

  /** Appends a piece to the text that grows; a thin mark shows where one partial Event ends and the next begins. */
  #grow(author: string, text: string): void {
    if (this.#column === 0) {
      write(this.#head(author, '·', 'partials'));
      this.#column = INDENT;
    } else if (this.#column + 1 < width) {
      write(paint('dim', '┊'));
      this.#column++;
    }
    for (const word of text.replaceAll(/\s+/g, ' ').match(/\S+ ?| /g) ?? []) {
      if (this.#column + word.length > width) {
        write(`\n${' '.repeat(INDENT)}`);
        this.#column = INDENT;
      }
      write(paint('green', word));
      this.#column += word.length;
    }
  }

  /** Ends the line that grows. */
  end(): void {
    if (this.#column > 0) line();
    this.#column = 0;
  }

  /** Ends it with a mark: nothing more comes. */
  cut(how: string): void {
    if (this.#column > 0) write(paint('red', `╳ ${how}`));
    this.end();
  }

  #row(author: string, mark: string, kind: string, text: string, style: 'dim' | 'reset' = 'reset'): void {
    this.end();
    line(`${this.#head(author, mark, kind)}${paint(style, text)}`);
  }

  #head(author: string, mark: string, kind: string): string {
    const time = ms(Math.round(performance.now() - this.#start) || 0)
      .replace(/\.0 /, ' ')
      .padStart(9);
    return `${paint('dim', time)}  ${paint('bold', author.padEnd(7))} ${paint(mark === '●' ? 'green' : 'dim', mark)} ${paint('dim', kind.padEnd(8))}  `;
  }
}

function callText({name, args}: FunctionCall): string {
  return fit(`→ ${name} ${brief(args)}`, width - INDENT);
}

function responseText({name, response}: FunctionResponse): string {
  return fit(`← ${name} ${brief(response)}`, width - INDENT);
}
