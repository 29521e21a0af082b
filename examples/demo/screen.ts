import {styleText} from 'node:util';

/** How a text may be styled. */
export type Style = Parameters<typeof styleText>[0];

/** How many columns a line may have: the terminal's, or what suits a log. */
export const width: number = Math.max(64, Math.min(process.stdout.columns ?? 96, 108));

/** Styles a text where the output takes it: not when piped, not with `NO_COLOR`, always with `FORCE_COLOR`. */
export function paint(style: Style, text: string): string {
  return styleText(style, text, {stream: process.stdout});
}

export function write(text: string): void {
  process.stdout.write(text);
}

export function line(text = ''): void {
  write(`${text}\n`);
}

/** The title of a section, and what it is about. */
export function heading(title: string, subtitle: string): void {
  line();
  line(paint('bold', title));
  line(paint('dim', '─'.repeat(width)));
  for (const row of wrap(subtitle, width)) line(paint('dim', row));
  line();
}

/** A fact: what, and what about it. Long ones go on below themselves. */
export function fact(name: string, value: string, style: Style = 'reset'): void {
  const label = `  ${name.padEnd(14)}`;
  for (const [at, row] of wrap(value, width - label.length).entries()) {
    line(`${at === 0 ? paint('dim', label) : ' '.repeat(label.length)}${paint(style, row)}`);
  }
}

/** Milliseconds for people: `1,204 ms`, `0.8 ms`. */
export function ms(value: number): string {
  return `${value < 10 ? value.toFixed(1) : Math.round(value).toLocaleString('en-US')} ms`;
}

/** A text on one line, cut where it is too long for its place. */
export function fit(text: string, columns: number): string {
  const row = text.replaceAll(/\s+/g, ' ');
  return row.length <= columns ? row : `${row.slice(0, Math.max(0, columns - 1))}…`;
}

/** JSON as a person would write it. */
export function brief(value: unknown): string {
  return JSON.stringify(value ?? {})
    .replaceAll(/"([A-Za-z_]\w*)":/g, '$1: ')
    .replaceAll(/,(?=["\w])/g, ', ');
}

/** Breaks a text into rows at its spaces. */
export function wrap(text: string, columns: number): string[] {
  const rows: string[] = [];
  let row = '';
  for (const word of text.split(' ')) {
    if (row !== '' && row.length + 1 + word.length > columns) {
      rows.push(row);
      row = word;
    } else row = row === '' ? word : `${row} ${word}`;
  }
  return [...rows, row];
}
