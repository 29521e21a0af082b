/** A text in pieces of three words, as a model sends it. */
export function pieces(text: string): string[] {
  return text.match(/(?:\S+\s*){1,3}/g) ?? [];
}
