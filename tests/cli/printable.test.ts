import {expect, test} from 'vitest';
import {oneLineJson, printable, shortJson} from '../../lib/cli/printable.ts';

test('printable shows every control character but tab and end of line, and changes nothing else', () => {
  const controls = String.fromCharCode(...Array.from({length: 0xa0}, (_, code) => code).filter((code) => code < 0x20 || code >= 0x7f));
  const shown = printable(`${controls}.`);
  // oxlint-disable-next-line no-control-regex -- none may be left
  expect(shown).not.toMatch(/[\u0000-\u0008\u000B-\u001F\u007F-\u009F]/);
  expect(shown).toContain('^@^A');
  expect(shown).toContain('\t\n');
  expect(printable('caf\u00E9 \u{1F44D}\u{1F3FD} \u65E5\u672C')).toBe('caf\u00E9 \u{1F44D}\u{1F3FD} \u65E5\u672C');
});

test('oneLineJson is the same value, in characters that end no line', () => {
  const value = {text: 'a\u2028b\u2029c\u0085d\u009B\n'};
  expect(oneLineJson(value)).toBe('{"text":"a\\u2028b\\u2029c\\u0085d\\u009b\\n"}');
  expect(JSON.parse(oneLineJson(value))).toEqual(value);
});

test('shortJson cuts between characters', () => {
  expect(shortJson('\u{1F44D}'.repeat(10), 4)).toBe('"\u{1F44D}\u{1F44D}\u{1F44D}...');
  expect(shortJson({a: 1})).toBe('{"a":1}');
});
