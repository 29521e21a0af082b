/** Control characters, but for the tab and the end of a line: a terminal obeys them, so text that a model wrote must not hold any. */
// oxlint-disable-next-line no-control-regex -- that is what it is for
const CONTROL = /[\u0000-\u0008\u000B-\u001F\u007F-\u009F]/g;

/**
 * Text that a terminal shows and does not obey: a control character becomes visible (`^[` for escape), and an end of line is a `\n`.
 */
export function printable(text: string): string {
  return text.replaceAll(/\r(?=\n|$)/g, '').replaceAll(CONTROL, visible);
}

/** As JSON on one line; a value that is long is cut. */
export function shortJson(value: unknown, most = 200): string {
  const characters = Array.from(oneLineJson(value));
  return characters.length > most ? `${characters.slice(0, most).join('')}...` : characters.join('');
}

/** JSON that is one line for every reader, and that does nothing to a terminal: the same value, with more of its characters escaped. */
export function oneLineJson(value: unknown): string {
  const json = JSON.stringify(value) ?? 'null';
  return json.replaceAll(/[\u007F-\u009F\u2028\u2029]/g, (character) => `\\u${hex(character)}`);
}

/** As `cat -v` and `less` show it; the controls above ASCII have no such name. */
function visible(character: string): string {
  const code = character.charCodeAt(0);
  if (code > 0x7f) return `<U+${hex(character).toUpperCase()}>`;
  return code === 0x7f ? '^?' : `^${String.fromCharCode(code + 0x40)}`;
}

function hex(character: string): string {
  return character.charCodeAt(0).toString(16).padStart(4, '0');
}
