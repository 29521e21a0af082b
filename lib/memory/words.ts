/** A text that words are looked for in. */
export interface SearchableText {
  readonly text: string;
  readonly words: ReadonlySet<string>;
}

/** A text made ready to be searched: its words, all of them in one spelling. */
export function searchable(text: string): SearchableText {
  // `ﬁ` and full-width letters become what one types; case does not count.
  const folded = text.normalize('NFKC').toLowerCase();
  const words = new Set<string>();
  for (const {segment, isWordLike} of segmenter().segment(folded)) if (isWordLike && !PARTICLE.test(segment)) words.add(segment);
  return {text: folded, words};
}

/** How many words of a query stand in a text. */
export function countMatches(query: SearchableText, {text, words}: SearchableText): number {
  let count = 0;
  for (const word of query.words) if (words.has(word) || (UNSPACED.test(word) && text.includes(word))) count++;
  return count;
}

// A single kana is a particle, and stands in nearly every sentence.
const PARTICLE = /^\p{Script=Hiragana}$/u;
// In these scripts nothing stands between words: where one ends is a guess from what is around it, which differs in query and text.
const UNSPACED = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u;

let made: Intl.Segmenter | undefined;

/** Made once, at the first text: it loads dictionaries. */
function segmenter(): Intl.Segmenter {
  return (made ??= new Intl.Segmenter('en', {granularity: 'word'}));
}
