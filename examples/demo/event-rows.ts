import {line, ms, paint, width, wrap, write, type Style} from './screen.ts';

/** Where the text of a row begins. */
const INDENT = 33;

/** How many columns the text of a row has. */
export const columns: number = width - INDENT;

/** What stands before the text of a row: who, whether it is stored (●) or passes by (·), and what it is. */
export interface RowHead {
  readonly author: string;
  readonly mark: '●' | '·';
  readonly kind: string;
}

/** Rows that tell what happens, each with its time. The last one may grow, piece by piece. */
export class EventRows {
  readonly #start: number;
  #column = 0;
  #growing = '';

  /** @param start - what the times count from, on the scale of `performance.now()` */
  constructor(start: number = performance.now()) {
    this.#start = start;
  }

  /** A row of its own. */
  row(head: RowHead, text: string, style: Style = 'reset'): void {
    this.end();
    const [first = '', ...more] = wrap(text, columns);
    line(`${this.#head(head)}${paint(style, first)}`);
    for (const row of more) this.more(row, style);
  }

  /** More of the row before, below it. */
  more(text: string, style: Style = 'reset'): void {
    for (const row of wrap(text, columns)) line(`${' '.repeat(INDENT)}${paint(style, row)}`);
  }

  /** Appends a piece to the row that grows; a thin mark shows where one piece ends and the next begins. */
  grow(head: RowHead, text: string, style: Style = 'green'): void {
    const name = `${head.author} ${head.kind}`;
    if (this.#growing !== name) this.end();
    if (this.#column === 0) {
      write(this.#head(head));
      this.#column = INDENT;
      this.#growing = name;
    } else if (this.#column + 1 < width) {
      write(paint('dim', '┊'));
      this.#column++;
    }
    for (const word of text.replaceAll(/\s+/g, ' ').match(/\S+ ?| /g) ?? []) this.#append(word, style);
  }

  /** Ends the row that grows. */
  end(): void {
    if (this.#column > 0) line();
    this.#column = 0;
    this.#growing = '';
  }

  /** Ends it with a mark: nothing more comes. */
  cut(how: string): void {
    if (this.#column > 0) write(paint('red', `╳ ${how}`));
    this.end();
  }

  #append(word: string, style: Style): void {
    if (this.#column + word.length > width) {
      write(`\n${' '.repeat(INDENT)}`);
      this.#column = INDENT;
    }
    write(paint(style, word));
    this.#column += word.length;
  }

  #head({author, mark, kind}: RowHead): string {
    const time = ms(Math.round(performance.now() - this.#start) || 0)
      .replace(/\.0 /, ' ')
      .padStart(9);
    return `${paint('dim', time)}  ${paint('bold', author.padEnd(9))} ${paint(mark === '●' ? 'green' : 'dim', mark)} ${paint('dim', kind.padEnd(8))}  `;
  }
}
