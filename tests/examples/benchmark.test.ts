import {expect, test} from 'vitest';
import {runExample} from './program.ts';

test('benchmark prints its figures, round by round', async () => {
  const {code, stdout, stderr} = await runExample('benchmark', ['--runs', '3', '--steps', '60', '--rounds', '2']);
  expect({code, stderr}).toEqual({code: 0, stderr: ''});
  const rows = stdout.match(/^ {2}(?:round \d|best ) .*$/gm) ?? [];
  expect(rows.map((row) => row.replaceAll(/[\d.,]+(?= )/g, '#').replaceAll(/ +/g, ' '))).toEqual([
    ' round # # µs per step # runs/s',
    ' round # # µs per step # runs/s',
    ' best # µs per step # runs/s',
  ]);
});

test('benchmark refuses a count that is none', async () => {
  const {code, stderr} = await runExample('benchmark', ['--runs', 'many']);
  expect(code).toBe(1);
  expect(stderr).toContain('--runs takes a whole number from 1, not "many"');
});
