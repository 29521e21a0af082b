import {Readable} from 'node:stream';
import {expect, test} from 'vitest';
import {lineInput} from '../../lib/cli/line-input.ts';

const never = new AbortController().signal;

/** The lines of a stream that comes in these pieces. */
async function linesOf(pieces: Iterable<string | Buffer>): Promise<string[]> {
  const input = lineInput(Readable.from(pieces, {objectMode: false}), never);
  const lines: string[] = [];
  for (let line = await input.next(''); line !== undefined; line = await input.next('')) lines.push(line);
  return lines;
}

test('lines are whole however they are cut into pieces', async () => {
  const text = Buffer.from('one\r\n\nt\u00E9\u2028o\nthree');
  const bytes = Array.from(text, (byte) => Buffer.from([byte]));
  expect(await linesOf([text])).toEqual(['one', '', 't\u00E9\u2028o', 'three']);
  expect(await linesOf(bytes)).toEqual(['one', '', 't\u00E9\u2028o', 'three']);
});

test('a stream that ends with its line has no line after it', async () => {
  expect(await linesOf(['one\n'])).toEqual(['one']);
  expect(await linesOf([])).toEqual([]);
});

test('a line takes time in proportion to its length', async () => {
  // In time that grows with the square of the length, this would take minutes.
  const piece = 'x'.repeat(1_000);
  const lines = await linesOf([...Array<string>(60_000).fill(piece), '\ny']);
  expect(lines.map(({length}) => length)).toEqual([60_000_000, 1]);
});
